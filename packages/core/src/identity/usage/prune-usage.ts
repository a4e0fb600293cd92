import { requireSystem } from "../../platform/authorize.ts";
import type { Context } from "../../platform/context.ts";

const DAY_MS = 86_400_000;
const HOURS_KEPT_DAYS = 90;
const BATCH_ROWS = 5_000;
const MAX_BATCHES = 200;

/**
 * Removes usage by hour after 90 days and by day after `USAGE_RETENTION_DAYS`, and reports that can no longer be sent
 * again, in batches of 5,000. A job. Returns how many rows went.
 */
export async function pruneUsage(ctx: Context): Promise<number> {
  requireSystem(ctx);
  const { sql } = ctx.db;
  const now = ctx.clock.now();
  const today = Math.floor(now.getTime() / DAY_MS) * DAY_MS;
  const firstHour = new Date(today - HOURS_KEPT_DAYS * DAY_MS).toISOString();
  const firstDay = new Date(today - ctx.config.USAGE_RETENTION_DAYS * DAY_MS).toISOString().slice(0, 10);
  return (
    (await inBatches(
      () => sql`DELETE FROM api_usage_hours WHERE ctid = ANY (ARRAY (
        SELECT ctid FROM api_usage_hours WHERE hour < ${firstHour}::timestamptz LIMIT ${BATCH_ROWS}))`,
    )) +
    (await inBatches(
      () => sql`DELETE FROM api_usage_days WHERE ctid = ANY (ARRAY (
        SELECT ctid FROM api_usage_days WHERE day < ${firstDay}::date LIMIT ${BATCH_ROWS}))`,
    )) +
    (await inBatches(
      () => sql`DELETE FROM usage_reports WHERE key IN (
        SELECT key FROM usage_reports WHERE expires_at < ${now.toISOString()}::timestamptz LIMIT ${BATCH_ROWS})`,
    ))
  );
}

async function inBatches(removeBatch: () => PromiseLike<{ count: number }>): Promise<number> {
  let removed = 0;
  for (let batch = 0; batch < MAX_BATCHES; batch += 1) {
    const { count } = await removeBatch();
    removed += count;
    if (count < BATCH_ROWS) break;
  }
  return removed;
}
