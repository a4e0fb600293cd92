import {
  createCrmWebhookInput,
  createdWebhook,
  crmWebhookRecord,
  deliveryIdInput,
  listCrmWebhooksOutput,
  listDeliveriesInput,
  listDeliveriesOutput,
  queuedDelivery,
  recoverDeliveriesInput,
  recoveredDeliveries,
  rotatedSecret,
  rotateSecretInput,
  updateCrmWebhookInput,
  webhookIdInput,
} from "@quayside/contracts";
import {
  createCrmWebhook,
  deleteWebhook,
  listCrmWebhooks,
  listDeliveries,
  readCrmWebhook,
  recoverDeliveries,
  resendDelivery,
  rotateSecret,
  sendTest,
  updateCrmWebhook,
} from "@quayside/core";
import { z } from "zod";
import { procedure, router } from "../platform/procedure.ts";

const tags = ["CRM webhooks"];
const reading = { auth: "caller", errors: "problem", kind: "json", scope: "read", status: 200 } as const;
const writing = { ...reading, scope: "write" } as const;

export const crmWebhooksRouter = router({
  list: procedure
    .meta({
      openapi: {
        method: "GET",
        path: "/v1/crm/webhooks",
        tags,
        summary: "List CRM webhooks, newest first",
        errorResponses: { 401: "Sign in required", 403: "Scope missing" },
      },
      rest: reading,
    })
    .output(listCrmWebhooksOutput)
    .query(async ({ ctx }) => ({ data: await listCrmWebhooks(ctx) })),

  create: procedure
    .meta({
      openapi: {
        method: "POST",
        path: "/v1/crm/webhooks",
        tags,
        summary: "Subscribe a URL to CRM events",
        description: "The signing secret is made by the server; reading the webhook shows it to the scope `admin`.",
        errorResponses: {
          401: "Sign in required",
          403: "Scope missing",
          409: "100 webhooks already; or Idempotency-Key reused with another body, or still in progress",
          422: "Invalid input",
        },
      },
      rest: { ...writing, status: 201, idempotent: true },
    })
    .input(createCrmWebhookInput)
    .output(createdWebhook)
    .mutation(({ ctx, input }) => createCrmWebhook(ctx, input)),

  get: procedure
    .meta({
      openapi: {
        method: "GET",
        path: "/v1/crm/webhooks/{id}",
        tags,
        summary: "Read a CRM webhook",
        description: "With its signing secret when the credential has the scope `admin`.",
        errorResponses: { 401: "Sign in required", 403: "Scope missing", 404: "No such webhook" },
      },
      rest: reading,
    })
    .input(webhookIdInput)
    .output(crmWebhookRecord)
    .query(({ ctx, input }) => readCrmWebhook(ctx, input)),

  update: procedure
    .meta({ rest: writing })
    .input(updateCrmWebhookInput)
    .output(crmWebhookRecord)
    .mutation(({ ctx, input }) => updateCrmWebhook(ctx, input)),

  delete: procedure
    .meta({
      openapi: {
        method: "DELETE",
        path: "/v1/crm/webhooks/{id}",
        tags,
        summary: "Delete a CRM webhook",
        errorResponses: { 401: "Sign in required", 403: "Scope missing", 404: "No such webhook" },
      },
      rest: { ...writing, status: 204 },
    })
    .input(webhookIdInput)
    .output(z.void())
    .mutation(({ ctx, input }) => deleteWebhook(ctx, "crm", input)),

  deliveries: procedure
    .meta({ rest: reading })
    .input(listDeliveriesInput)
    .output(listDeliveriesOutput)
    .query(({ ctx, input }) => listDeliveries(ctx, "crm", input)),

  test: procedure
    .meta({ rest: writing })
    .input(webhookIdInput)
    .output(queuedDelivery)
    .mutation(({ ctx, input }) => sendTest(ctx, "crm", input)),

  resend: procedure
    .meta({ rest: writing })
    .input(deliveryIdInput)
    .output(queuedDelivery)
    .mutation(({ ctx, input }) => resendDelivery(ctx, "crm", input)),

  recover: procedure
    .meta({ rest: writing })
    .input(recoverDeliveriesInput)
    .output(recoveredDeliveries)
    .mutation(({ ctx, input }) => recoverDeliveries(ctx, "crm", input)),

  rotateSecret: procedure
    .meta({ rest: { ...reading, scope: "admin" } })
    .input(rotateSecretInput)
    .output(rotatedSecret)
    .mutation(({ ctx, input }) => rotateSecret(ctx, "crm", input)),
});
