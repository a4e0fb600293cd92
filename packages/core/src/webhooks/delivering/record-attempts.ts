import type { AttemptTimings } from "@quayside/contracts";
import { type Database, withTransaction } from "@quayside/db";
import type { Context } from "../../platform/context.ts";
import { recordActivity } from "../activity/record-activity.ts";
import { disableEndpoint } from "../disable-endpoint.ts";

/** Nothing but failures for this long disables an endpoint. */
const GIVE_UP_AFTER_DAYS = 5;
const GONE = 410;

export interface AttemptResult {
  deliveryId: string;
  attempt: number;
  outcome: "delivered" | "retry" | "failed";
  /** When the next attempt is due, with the outcome `retry`. */
  nextAttemptAt: Date | null;
  statusCode: number | null;
  durationMs: number;
  errorClass: string | null;
  error: string | null;
  responseBody: string;
  truncated: boolean;
  address: string | null;
  timings: AttemptTimings;
}

/**
 * Stores how attempts ended, a statement for all of them; harmless to run twice. An attempt whose lease has run out, so
 * that another one was begun, changes nothing of its delivery. A 410, or five days of nothing but failures, disables the
 * endpoint.
 */
export async function recordAttempts(
  ctx: Context,
  endpointId: string,
  results: readonly AttemptResult[],
): Promise<void> {
  if (results.length === 0) return;
  const stored = await storeResults(ctx.db, endpointId, results, ctx.clock.now());
  const watched = stored.filter((row) => row.watched).map(({ id }) => id);
  await recordActivity(ctx.db, ctx, watched);
  const failing = stored.some((row) => row.failing);
  // In a transaction of its own, which locks nothing before the endpoint.
  if (results.some(({ statusCode }) => statusCode === GONE)) {
    await withTransaction(ctx.db, (tx) => disableEndpoint(tx, ctx, endpointId, "The receiver answered 410 Gone."));
  } else if (!results.some(({ outcome }) => outcome === "delivered")) {
    await noteFailing(ctx, endpointId);
  } else if (failing) {
    await ctx.db.sql`UPDATE webhook_endpoints SET failing_since = NULL WHERE id = ${endpointId}`;
  }
}

interface StoredResult {
  id: string;
  failing: boolean;
  watched: boolean;
}

/** Disables the endpoint when it has been failing for long enough. */
async function noteFailing(ctx: Context, endpointId: string): Promise<void> {
  const now = ctx.clock.now().toISOString();
  await withTransaction(ctx.db, async (tx) => {
    const [endpoint] = await tx.sql<{ longEnough: boolean }[]>`
      UPDATE webhook_endpoints SET failing_since = coalesce(failing_since, ${now}::timestamptz)
      WHERE id = ${endpointId} AND status = 'enabled' AND (failing_since IS NULL
        OR failing_since <= ${now}::timestamptz - make_interval(days => ${GIVE_UP_AFTER_DAYS}))
      RETURNING failing_since < ${now}::timestamptz AS "longEnough"`;
    if (!endpoint?.longEnough) return;
    await disableEndpoint(tx, ctx, endpointId, `Nothing could be delivered for ${GIVE_UP_AFTER_DAYS} days.`);
  });
}

/** Gives the deliveries that were changed, whether somebody follows them, and whether the endpoint was failing before. */
async function storeResults(
  db: Database,
  endpointId: string,
  results: readonly AttemptResult[],
  now: Date,
): Promise<StoredResult[]> {
  const ids = results.map(({ deliveryId }) => deliveryId);
  // The endpoint is locked before its deliveries, as by whoever disables or deletes it, so that neither waits for the
  // other. The ids are named twice, so that no planner takes a table for small and reads it as a whole.
  return db.sql<StoredResult[]>`
    WITH results AS MATERIALIZED (
      SELECT * FROM jsonb_to_recordset(${JSON.stringify(results)}::text::jsonb) AS r ("deliveryId" uuid, attempt int,
        outcome text, "nextAttemptAt" timestamptz, "statusCode" int, "durationMs" float8, "errorClass" text, error text,
        "responseBody" text, truncated boolean, address text, timings jsonb)
    ), endpoint AS MATERIALIZED (
      SELECT failing_since IS NOT NULL AS failing FROM webhook_endpoints WHERE id = ${endpointId} FOR SHARE
    ), attempts AS (
      UPDATE webhook_attempts a SET status_code = r."statusCode", duration_ms = round(r."durationMs"),
        error_class = r."errorClass", error = r.error, response_body = r."responseBody", truncated = r.truncated,
        address = r.address, timings = r.timings
      FROM results r WHERE a.delivery_id = r."deliveryId" AND a.attempt = r.attempt
        AND a.delivery_id = ANY (${ids}::uuid[])
    )
    UPDATE webhook_deliveries d SET
      status = CASE r.outcome WHEN 'retry' THEN 'pending' ELSE r.outcome END,
      next_attempt_at = r."nextAttemptAt",
      finished_at = CASE r.outcome WHEN 'retry' THEN NULL ELSE ${now.toISOString()}::timestamptz END
    FROM results r, endpoint WHERE d.id = r."deliveryId" AND d.status = 'pending' AND d.attempts = r.attempt
      AND d.id = ANY (${ids}::uuid[])
    RETURNING d.id, endpoint.failing,
      EXISTS (SELECT 1 FROM webhook_watches o WHERE o.organization_id = d.organization_id
        AND o.until > ${now.toISOString()}::timestamptz) AS watched`;
}
