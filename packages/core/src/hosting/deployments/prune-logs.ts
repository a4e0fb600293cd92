import { requireSystem } from "../../platform/authorize.ts";
import type { Context } from "../../platform/context.ts";

const BATCH_ROWS = 5_000;
const MAX_BATCHES = 200;

/** Removes log lines older than `LOG_RETENTION_DAYS`, in batches of 5,000. Returns how many went. */
export async function pruneLogs(ctx: Context): Promise<number> {
  requireSystem(ctx);
  const before = new Date(ctx.clock.now().getTime() - ctx.config.LOG_RETENTION_DAYS * 86_400_000).toISOString();
  let removed = 0;
  for (let batch = 0; batch < MAX_BATCHES; batch += 1) {
    const { count } = await ctx.db.sql`
      DELETE FROM deployment_log_lines WHERE id IN (
        SELECT id FROM deployment_log_lines WHERE at < ${before}::timestamptz LIMIT ${BATCH_ROWS})`;
    removed += count;
    if (count < BATCH_ROWS) break;
  }
  return removed;
}
