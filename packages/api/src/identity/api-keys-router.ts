import {
  apiKeyIdInput,
  apiKeyUsageInput,
  apiKeyUsageOutput,
  createApiKeyInput,
  createApiKeyOutput,
  hourlyUsageInput,
  hourlyUsageOutput,
  listApiKeysOutput,
  rotateApiKeyInput,
  rotateApiKeyOutput,
  verifyApiKeyInput,
  verifyApiKeyOutput,
} from "@quayside/contracts";
import {
  createApiKey,
  listApiKeys,
  readApiKeyUsage,
  readHourlyUsage,
  revokeApiKey,
  rotateApiKey,
  verifyApiKey,
} from "@quayside/core";
import { z } from "zod";
import { procedure, router } from "../platform/procedure.ts";

const tags = ["API keys"];
const managed = { auth: "caller", errors: "problem", kind: "json", scope: "admin" } as const;

export const apiKeysRouter = router({
  list: procedure
    .meta({
      openapi: {
        method: "GET",
        path: "/v1/crm/api-keys",
        tags,
        summary: "List the caller's API keys",
        errorResponses: { 401: "Sign in required", 403: "Scope missing" },
      },
      rest: { ...managed, status: 200 },
    })
    .output(listApiKeysOutput)
    .query(async ({ ctx }) => ({ keys: await listApiKeys(ctx) })),

  create: procedure
    .meta({
      openapi: {
        method: "POST",
        path: "/v1/crm/api-keys",
        tags,
        summary: "Create an API key",
        description: "The secret is in this response only.",
        errorResponses: {
          401: "Sign in required",
          402: "A live key needs an active paid plan",
          403: "Scope missing",
          422: "Invalid input",
        },
      },
      rest: { ...managed, status: 201, idempotent: true },
    })
    .input(createApiKeyInput)
    .output(createApiKeyOutput)
    .mutation(({ ctx, input }) => createApiKey(ctx, input)),

  revoke: procedure
    .meta({
      openapi: {
        method: "DELETE",
        path: "/v1/crm/api-keys/{id}",
        tags,
        summary: "Revoke an API key",
        errorResponses: { 401: "Sign in required", 403: "Scope missing", 404: "Not found or already revoked" },
      },
      rest: { ...managed, status: 204 },
    })
    .input(apiKeyIdInput)
    .output(z.void())
    .mutation(({ ctx, input }) => revokeApiKey(ctx, input)),

  usage: procedure
    .meta({
      openapi: {
        method: "GET",
        path: "/v1/crm/api-keys/{id}/usage",
        tags,
        summary: "Requests and errors of a key by day",
        errorResponses: {
          401: "Sign in required",
          403: "Scope missing",
          404: "Not found, or another owner's",
          422: "Invalid input",
        },
      },
      rest: { ...managed, status: 200 },
    })
    .input(apiKeyUsageInput)
    .output(apiKeyUsageOutput)
    .query(async ({ ctx, input }) => ({ keyId: input.id, days: input.days, usage: await readApiKeyUsage(ctx, input) })),

  hourlyUsage: procedure
    .meta({ rest: { ...managed, status: 200 } })
    .input(hourlyUsageInput)
    .output(hourlyUsageOutput)
    .query(async ({ ctx, input }) => ({
      keyId: input.id,
      hours: input.hours,
      usage: await readHourlyUsage(ctx, input),
    })),

  rotate: procedure
    .meta({ rest: { ...managed, status: 201 } })
    .input(rotateApiKeyInput)
    .output(rotateApiKeyOutput)
    .mutation(({ ctx, input }) => rotateApiKey(ctx, input)),

  verify: procedure
    .meta({
      openapi: {
        method: "POST",
        path: "/v1/crm/api-keys/verify",
        tags,
        protect: false,
        summary: "Verify an API key (gateway use)",
        description: "The key in the body is the only credential. A revocation is seen by every process within 1 s.",
        errorResponses: { 401: "Unknown, revoked or expired key", 422: "Invalid input", 429: "Too many refused keys" },
      },
      rest: { auth: "none", errors: "problem", status: 200, kind: "json" },
    })
    .input(verifyApiKeyInput)
    .output(verifyApiKeyOutput)
    .mutation(({ ctx, input }) => verifyApiKey(ctx, input)),
});
