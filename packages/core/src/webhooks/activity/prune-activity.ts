import { requireSystem } from "../../platform/authorize.ts";
import type { Context } from "../../platform/context.ts";

const KEPT_MS = 24 * 3_600_000;
const BATCH_ROWS = 5_000;
const MAX_BATCHES = 500;

/** Removes activity after a day, oldest first, and watches that have ended. A job. Returns how many rows went. */
export async function pruneActivity(ctx: Context, stopping: AbortSignal): Promise<number> {
  requireSystem(ctx);
  const now = ctx.clock.now();
  const before = new Date(now.getTime() - KEPT_MS).toISOString();
  let total = 0;
  for (let batch = 0; batch < MAX_BATCHES && !stopping.aborted; batch++) {
    const { count } = await ctx.db.sql`
      DELETE FROM webhook_activity WHERE at < ${before}::timestamptz AND id IN (
        SELECT id FROM webhook_activity ORDER BY id LIMIT ${BATCH_ROWS})`;
    total += count;
    if (count < BATCH_ROWS) break;
  }
  await ctx.db.sql`DELETE FROM webhook_watches WHERE until < ${now.toISOString()}::timestamptz`;
  return total;
}
