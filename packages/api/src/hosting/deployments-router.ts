import {
  createDeploymentInput,
  deploymentIdInput,
  deploymentRecord,
  listDeploymentsInput,
  logsInput,
  streamInput,
  updateDeploymentInput,
} from "@quayside/contracts";
import {
  createDeployment,
  followDeployment,
  listDeployments,
  readDeployment,
  readLogs,
  updateDeployment,
} from "@quayside/core";
import { z } from "zod";
import { openStream } from "../platform/open-stream.ts";
import { procedure, router } from "../platform/procedure.ts";

const tags = ["Deployments"];
const reading = { auth: "caller", errors: "plain", kind: "json", scope: "read", status: 200 } as const;
const writing = { ...reading, scope: "write" } as const;
const refusals = { 401: "Sign in required", 403: "Scope missing" };
const missing = { ...refusals, 404: "No such deployment" };

export const deploymentsRouter = router({
  list: procedure
    .meta({
      openapi: {
        method: "GET",
        path: "/api/deployments",
        tags,
        summary: "List deployments, newest first",
        errorResponses: { ...refusals, 400: "Invalid query" },
      },
      rest: reading,
    })
    .input(listDeploymentsInput)
    .output(z.array(deploymentRecord))
    .query(({ ctx, input }) => listDeployments(ctx, input)),

  create: procedure
    .meta({
      openapi: {
        method: "POST",
        path: "/api/deployments",
        tags,
        summary: "Deploy a commit",
        errorResponses: {
          ...refusals,
          400: "Invalid input",
          404: "No such project",
          422: "The project has no repository",
        },
      },
      rest: { ...writing, status: 201, idempotent: true },
    })
    .input(createDeploymentInput)
    .output(deploymentRecord)
    .mutation(({ ctx, input }) => createDeployment(ctx, input)),

  get: procedure
    .meta({
      openapi: {
        method: "GET",
        path: "/api/deployments/{id}",
        tags,
        summary: "Read a deployment",
        errorResponses: missing,
      },
      rest: reading,
    })
    .input(deploymentIdInput)
    .output(deploymentRecord)
    .query(({ ctx, input }) => readDeployment(ctx, input)),

  update: procedure
    .meta({
      openapi: {
        method: "PATCH",
        path: "/api/deployments/{id}",
        tags,
        summary: "Set a deployment's status; `cancelled` also cancels its work",
        errorResponses: { ...missing, 400: "Invalid input" },
      },
      rest: writing,
    })
    .input(updateDeploymentInput)
    .output(deploymentRecord)
    .mutation(({ ctx, input }) => updateDeployment(ctx, input)),

  stream: procedure
    .meta({
      openapi: {
        method: "GET",
        path: "/api/deployments/{id}/stream",
        tags,
        summary: "Follow a deployment's status",
        description:
          "Server-sent events: `update` with `{status, message}` and an id, and `ping` every 30 seconds. " +
          "`Last-Event-ID` goes on after that event; without it the stream begins with the first one.",
        errorResponses: missing,
      },
      rest: { ...reading, kind: "sse", event: "update" },
    })
    .input(streamInput)
    .subscription(({ ctx, input, signal }) =>
      openStream(
        ctx,
        signal,
        (ended) => followDeployment(ctx, input, ended),
        ({ status, message }) => ({ status, message }),
      ),
    ),

  logs: procedure
    .meta({
      openapi: {
        method: "GET",
        path: "/api/deployments/{id}/logs",
        tags,
        summary: "Read or follow what a deployment prints",
        description:
          "Text lines `<RFC 3339 time> <component> <text>`. With `follow=1` they go on until the client leaves; " +
          "`Accept: text/event-stream` gets `log` events `{at, component, stream, line}` with ids.",
        errorResponses: { ...missing, 400: "Invalid query", 422: "The deployment has no repository" },
      },
      rest: { ...reading, kind: "log", event: "log" },
    })
    .input(logsInput)
    .subscription(({ ctx, input, signal }) =>
      openStream(
        ctx,
        signal,
        (ended) => readLogs(ctx, { ...input, follow: input.follow === "1" }, ended),
        ({ at, component, stream, line }) => ({ at, component, stream, line }),
      ),
    ),
});
