import { requireSystem } from "../../platform/authorize.ts";
import type { Context } from "../../platform/context.ts";

const KEPT_DAYS = 30;
const BATCH_ROWS = 2_000;
const MAX_BATCHES = 500;

/** Removes events with their deliveries and attempts after 30 days, in batches. A job. Returns how many events went. */
export async function pruneWebhooks(ctx: Context, stopping: AbortSignal): Promise<number> {
  requireSystem(ctx);
  const before = new Date(ctx.clock.now().getTime() - KEPT_DAYS * 86_400_000).toISOString();
  let total = 0;
  for (let batch = 0; batch < MAX_BATCHES && !stopping.aborted; batch++) {
    const { count } = await ctx.db.sql`
      DELETE FROM webhook_events WHERE id = ANY (ARRAY (
        SELECT id FROM webhook_events WHERE occurred_at < ${before}::timestamptz LIMIT ${BATCH_ROWS}))`;
    total += count;
    if (count < BATCH_ROWS) break;
  }
  return total;
}
