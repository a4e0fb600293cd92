import { webhookEndpoints, withTransaction } from "@quayside/db";
import { recordAudit } from "../../platform/audit.ts";
import { requireCaller } from "../../platform/authorize.ts";
import type { Context } from "../../platform/context.ts";
import { crmEndpoint, noWebhook } from "./endpoint-record.ts";

/** Ends a subscription for good. Errors: `not_found`. */
export async function deleteCrmWebhook(ctx: Context, input: { id: string }): Promise<void> {
  const { organization } = requireCaller(ctx, "write");
  await withTransaction(ctx.db, async (tx) => {
    const [row] = await tx.orm
      .delete(webhookEndpoints)
      .where(crmEndpoint(organization.id, input.id))
      .returning({ id: webhookEndpoints.id });
    if (!row) throw noWebhook(input.id);
    await recordAudit(tx, ctx, { action: "crm_webhook.deleted", target: `webhook:${row.id}` });
  });
}
