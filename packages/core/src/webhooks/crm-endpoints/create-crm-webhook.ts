import { type CreateCrmWebhookInput, PlatformError } from "@quayside/contracts";
import { type Database, webhookEndpoints, withTransaction } from "@quayside/db";
import { recordAudit } from "../../platform/audit.ts";
import { requireCaller } from "../../platform/authorize.ts";
import type { Context } from "../../platform/context.ts";
import { generateEndpointSecret, sealEndpointSecret } from "../endpoint-secrets.ts";

const MAX_WEBHOOKS = 100;

/**
 * Subscribes a URL to CRM events, with a signing secret that is made here and kept sealed. Doubled events count once.
 * Errors: `conflict` when the organization has 100 already.
 */
export async function createCrmWebhook(ctx: Context, input: CreateCrmWebhookInput): Promise<{ id: string }> {
  const { organization } = requireCaller(ctx, "write");
  const id = ctx.ids.uuid();
  const now = ctx.clock.now();
  await withTransaction(ctx.db, async (tx) => {
    await requireRoom(tx, organization.id);
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

/** One creation at a time in an organization, so that the limit holds. */
async function requireRoom(tx: Database, organizationId: string): Promise<void> {
  await tx.sql`SELECT pg_advisory_xact_lock(hashtext('crm webhooks'), hashtext(${organizationId}))`;
  const [row] = await tx.sql<{ webhooks: number }[]>`
    SELECT count(*)::int AS webhooks FROM webhook_endpoints
    WHERE organization_id = ${organizationId} AND area = 'crm'`;
  if ((row?.webhooks ?? 0) < MAX_WEBHOOKS) return;
  throw new PlatformError(
    "conflict",
    `An organization may have at most ${MAX_WEBHOOKS} CRM webhooks; delete one first.`,
  );
}
