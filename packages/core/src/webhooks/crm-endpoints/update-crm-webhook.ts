import type { CrmWebhookRecord, UpdateCrmWebhookInput } from "@quayside/contracts";
import { webhookEndpoints, withTransaction } from "@quayside/db";
import { recordAudit } from "../../platform/audit.ts";
import { requireCaller } from "../../platform/authorize.ts";
import type { Context } from "../../platform/context.ts";
import { crmEndpoint, noWebhook, toCrmWebhookRecord } from "./endpoint-record.ts";

/** Changes the given fields; `events` is replaced as a whole. Errors: `not_found`. */
export async function updateCrmWebhook(ctx: Context, input: UpdateCrmWebhookInput): Promise<CrmWebhookRecord> {
  const { organization } = requireCaller(ctx, "write");
  const { id, events, ...fields } = input;
  const changes = {
    ...Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)),
    ...(events ? { events: [...new Set(events)] } : {}),
  };
  return withTransaction(ctx.db, async (tx) => {
    const [row] = await tx.orm
      .update(webhookEndpoints)
      .set({ ...changes, updatedAt: ctx.clock.now() })
      .where(crmEndpoint(organization.id, id))
      .returning();
    if (!row) throw noWebhook(id);
    const details = { fields: Object.keys(changes) };
    await recordAudit(tx, ctx, { action: "crm_webhook.updated", target: `webhook:${id}`, details });
    return toCrmWebhookRecord(row);
  });
}
