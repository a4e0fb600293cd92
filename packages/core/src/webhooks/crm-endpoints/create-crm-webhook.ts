import type { CreateCrmWebhookInput } from "@quayside/contracts";
import { webhookEndpoints, withTransaction } from "@quayside/db";
import { recordAudit } from "../../platform/audit.ts";
import { requireCaller } from "../../platform/authorize.ts";
import type { Context } from "../../platform/context.ts";
import { generateEndpointSecret, sealEndpointSecret } from "../endpoint-secrets.ts";
import { requireRoom } from "../endpoints/require-room.ts";

/**
 * Subscribes a URL to CRM events, with a signing secret that is made here and kept sealed. Doubled events count once.
 * Errors: `conflict` when the organization has 100 already.
 */
export async function createCrmWebhook(ctx: Context, input: CreateCrmWebhookInput): Promise<{ id: string }> {
  const { organization } = requireCaller(ctx, "write");
  const id = ctx.ids.uuid();
  const now = ctx.clock.now();
  await withTransaction(ctx.db, async (tx) => {
    await requireRoom(tx, organization.id, "crm");
    await tx.orm.insert(webhookEndpoints).values({
      id,
      organizationId: organization.id,
      area: "crm",
      name: input.name,
      url: input.url,
      events: [...new Set(input.events)],
      secret: sealEndpointSecret(ctx, id, generateEndpointSecret()),
      status: "enabled",
      createdAt: now,
      updatedAt: now,
    });
    await recordAudit(tx, ctx, { action: "crm_webhook.created", target: `webhook:${id}` });
  });
  return { id };
}
