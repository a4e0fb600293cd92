import {
  createWebhookInput,
  createWebhookOutput,
  deliveryIdInput,
  listDeliveriesInput,
  listWebhooksOutput,
  liveDeliveriesInput,
  queuedDelivery,
  readWebhookOutput,
  recoverDeliveriesInput,
  recoveredDeliveries,
  rotatedSecret,
  rotateSecretInput,
  updateWebhookInput,
  webhookIdInput,
  webhookRecord,
} from "@quayside/contracts";
import {
  createWebhook,
  deleteWebhook,
  followActivity,
  listWebhooks,
  readWebhook,
  recoverDeliveries,
  resendDelivery,
  rotateSecret,
  sendTest,
  updateWebhook,
} from "@quayside/core";
import { z } from "zod";
import { openStream } from "../platform/open-stream.ts";
import { procedure, router } from "../platform/procedure.ts";

const tags = ["Webhooks"];
const reading = { auth: "caller", errors: "envelope", kind: "json", scope: "read", status: 200 } as const;
const writing = { ...reading, scope: "write" } as const;
const queueing = { ...writing, status: 202, idempotent: true } as const;
const refusals = { 401: "Sign in required", 403: "Scope missing" };
const missing = { ...refusals, 404: "No such webhook" };
const key = "Idempotency-Key reused with another body, or still in progress";

export const webhooksRouter = router({
  list: procedure
    .meta({
      openapi: {
        method: "GET",
        path: "/api/webhooks",
        tags,
        summary: "List webhooks, newest first",
        errorResponses: refusals,
      },
      rest: reading,
    })
    .output(listWebhooksOutput)
    .query(({ ctx }) => listWebhooks(ctx)),

  create: procedure
    .meta({
      openapi: {
        method: "POST",
        path: "/api/webhooks",
        tags,
        summary: "Subscribe a URL to the organization's events",
        description: "The answer has the signing secret, given or made by the server; it is not shown again.",
        errorResponses: { ...refusals, 409: `100 webhooks already; or ${key}`, 422: "Invalid input" },
      },
      rest: { ...writing, status: 201, idempotent: true },
    })
    .input(createWebhookInput)
    .output(createWebhookOutput)
    .mutation(({ ctx, input }) => createWebhook(ctx, input)),

  get: procedure
    .meta({
      openapi: {
        method: "GET",
        path: "/api/webhooks/{id}",
        tags,
        summary: "Read a webhook with its deliveries, newest first",
        description: "The latest 50 deliveries with their attempts; `cursor`, `limit` and `status` page through all.",
        errorResponses: { ...missing, 422: "Invalid query or cursor" },
      },
      rest: reading,
    })
    .input(listDeliveriesInput)
    .output(readWebhookOutput)
    .query(({ ctx, input }) => readWebhook(ctx, input)),

  update: procedure
    .meta({
      openapi: {
        method: "PATCH",
        path: "/api/webhooks/{id}",
        tags,
        summary: "Change a webhook",
        description:
          "With another `secret` the present one signs too for 24 hours. `enabled: false` cancels what waits; " +
          "`enabled: true` also ends a pause.",
        errorResponses: { ...missing, 422: "Invalid input" },
      },
      rest: writing,
    })
    .input(updateWebhookInput)
    .output(webhookRecord)
    .mutation(({ ctx, input }) => updateWebhook(ctx, input)),

  delete: procedure
    .meta({
      openapi: {
        method: "DELETE",
        path: "/api/webhooks/{id}",
        tags,
        summary: "Delete a webhook with its history",
        errorResponses: missing,
      },
      rest: { ...writing, status: 204 },
    })
    .input(webhookIdInput)
    .output(z.void())
    .mutation(({ ctx, input }) => deleteWebhook(ctx, "organization", input)),

  test: procedure
    .meta({
      openapi: {
        method: "POST",
        path: "/api/webhooks/{id}/test",
        tags,
        summary: "Send a test event to a webhook",
        description: "An event `webhook.test` goes to this webhook alone, whatever it listens to.",
        errorResponses: { ...missing, 409: `The webhook is disabled; or ${key}` },
      },
      rest: queueing,
    })
    .input(webhookIdInput)
    .output(queuedDelivery)
    .mutation(({ ctx, input }) => sendTest(ctx, "organization", input)),

  resend: procedure
    .meta({
      openapi: {
        method: "POST",
        path: "/api/webhooks/{id}/deliveries/{deliveryId}/resend",
        tags,
        summary: "Send a delivery again",
        description: "The same delivery with the same id, and with retries of its own.",
        errorResponses: {
          ...refusals,
          404: "No such webhook or delivery",
          409: `The delivery is pending, or the webhook disabled; or ${key}`,
        },
      },
      rest: queueing,
    })
    .input(deliveryIdInput)
    .output(queuedDelivery)
    .mutation(({ ctx, input }) => resendDelivery(ctx, "organization", input)),

  recover: procedure
    .meta({
      openapi: {
        method: "POST",
        path: "/api/webhooks/{id}/recover",
        tags,
        summary: "Send again what failed or was cancelled since a time",
        description:
          "Oldest first, after live deliveries and slowly at first. At most 100,000 of one request; ask again for more.",
        errorResponses: { ...missing, 409: `The webhook is disabled; or ${key}`, 422: "Invalid input" },
      },
      rest: queueing,
    })
    .input(recoverDeliveriesInput)
    .output(recoveredDeliveries)
    .mutation(({ ctx, input }) => recoverDeliveries(ctx, "organization", input)),

  rotateSecret: procedure
    .meta({ rest: writing })
    .input(rotateSecretInput)
    .output(rotatedSecret)
    .mutation(({ ctx, input }) => rotateSecret(ctx, "organization", input)),

  live: procedure
    .meta({ rest: { ...reading, kind: "sse", event: "delivery" } })
    .input(liveDeliveriesInput)
    .subscription(({ ctx, input, signal }) =>
      openStream(
        ctx,
        signal,
        (ended) => followActivity(ctx, input, ended),
        ({ id: _, ...activity }) => activity,
      ),
    ),
});
