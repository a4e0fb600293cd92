import type { WebhookArea } from "@quayside/contracts";
import { withTransaction } from "@quayside/db";
import { recordAudit } from "../../platform/audit.ts";
import { requireCaller } from "../../platform/authorize.ts";
import type { Context } from "../../platform/context.ts";
import { storeChanges } from "./endpoint-changes.ts";
import { auditAction, lockEndpoint } from "./find-endpoint.ts";

/** More than these take longer than a caller should wait; `pruneDeletedWebhooks` removes them. */
const REMOVED_AT_ONCE = 2_000;

/**
 * Ends an endpoint for good, with its deliveries: it is gone for callers at once, and nothing more is sent. Errors:
 * `not_found`.
 */
export async function deleteWebhook(ctx: Context, area: WebhookArea, input: { id: string }): Promise<void> {
  const { organization } = requireCaller(ctx, "write");
  await withTransaction(ctx.db, async (tx) => {
    const row = await lockEndpoint(tx, organization.id, area, input.id);
    await storeChanges(tx, ctx, row, { status: "disabled", deletedAt: ctx.clock.now() });
    await recordAudit(tx, ctx, { action: auditAction(area, "deleted"), target: `webhook:${row.id}` });
  });
  // By itself: who holds a delivery may wait for the endpoint that the transaction has locked.
  await ctx.db.sql`
    DELETE FROM webhook_endpoints WHERE id = ${input.id} AND ${REMOVED_AT_ONCE} >= (
      SELECT count(*) FROM (
        SELECT 1 FROM webhook_deliveries WHERE endpoint_id = ${input.id} LIMIT ${REMOVED_AT_ONCE + 1}) AS found)`;
}
