import type { RecoverDeliveriesInput, WebhookArea } from "@quayside/contracts";
import { type Database, webhookEndpoints, withTransaction } from "@quayside/db";
import { eq, sql } from "drizzle-orm";
import { recordAudit } from "../../platform/audit.ts";
import { requireCaller } from "../../platform/authorize.ts";
import type { Context } from "../../platform/context.ts";
import { recordActivity } from "../activity/record-activity.ts";
import { MAX_ATTEMPTS } from "../delivering/retry-delay.ts";
import { wakeEndpoints } from "../delivering/wake-endpoints.ts";
import { auditAction, findEndpoint, lockEndpoint, requireEnabled } from "./find-endpoint.ts";

const MAX_DELIVERIES = 100_000;
/** What comes after live traffic. */
const PRIORITY = 1;
/** A receiver that was down is not met by everything at once; the pace grows while it keeps up. */
const FIRST_PACE = 5;

/**
 * Sends again what failed or was cancelled since a time, oldest first, after live traffic and slowly at first. At most
 * the 100,000 oldest; asked again, it goes on with the next. Returns how many. Errors: `not_found`, `conflict` when the
 * endpoint is disabled.
 */
export async function recoverDeliveries(
  ctx: Context,
  area: WebhookArea,
  input: RecoverDeliveriesInput,
): Promise<{ deliveries: number }> {
  const { organization } = requireCaller(ctx, "write");
  const { since, until = null } = input;
  return withTransaction(ctx.db, async (tx) => {
    requireEnabled(await findEndpoint(tx, organization.id, area, input.id));
    const ids = await makePending(tx, ctx, input.id, { since, until: until ?? "infinity" });
    // Locked after the long statement, so that workers do not wait for it. Disabled meanwhile: nothing was done.
    requireEnabled(await lockEndpoint(tx, organization.id, area, input.id));
    if (ids.length > 0) {
      const pace = sql`coalesce(${webhookEndpoints.pace}, ${FIRST_PACE})`;
      await tx.orm.update(webhookEndpoints).set({ pace, pausedUntil: null }).where(eq(webhookEndpoints.id, input.id));
      await recordActivity(tx, ctx, ids);
      await wakeEndpoints(tx, [input.id]);
    }
    const details = { since, until, deliveries: ids.length };
    await recordAudit(tx, ctx, { action: auditAction(area, "recovered"), target: `webhook:${input.id}`, details });
    return { deliveries: ids.length };
  });
}

/** Due a microsecond after one another: that keeps the order in which they were made. */
async function makePending(
  tx: Database,
  ctx: Context,
  endpointId: string,
  span: { since: string; until: string },
): Promise<string[]> {
  const rows = await tx.sql<{ id: string }[]>`
    WITH chosen AS (
      SELECT id, created_at FROM webhook_deliveries
      WHERE endpoint_id = ${endpointId} AND status IN ('failed', 'cancelled')
        AND created_at >= ${span.since}::timestamptz AND created_at < ${span.until}::timestamptz
      ORDER BY created_at, id LIMIT ${MAX_DELIVERIES} FOR NO KEY UPDATE
    ), ordered AS (
      SELECT id, row_number() OVER (ORDER BY created_at, id) AS place FROM chosen
    )
    UPDATE webhook_deliveries d SET status = 'pending', priority = ${PRIORITY}, finished_at = NULL,
      max_attempts = d.attempts + ${MAX_ATTEMPTS},
      next_attempt_at = ${ctx.clock.now().toISOString()}::timestamptz + ordered.place * interval '1 microsecond'
    FROM ordered WHERE d.id = ordered.id
    RETURNING d.id`;
  return rows.map(({ id }) => id);
}
