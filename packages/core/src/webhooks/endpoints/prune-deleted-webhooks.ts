import { requireSystem } from "../../platform/authorize.ts";
import type { Context } from "../../platform/context.ts";

const BATCH_ROWS = 2_000;
const MAX_BATCHES = 2_000;

/** Removes endpoints that were deleted, with their deliveries, in batches. A job. Returns how many endpoints went. */
export async function pruneDeletedWebhooks(ctx: Context, stopping: AbortSignal): Promise<number> {
  requireSystem(ctx);
  for (let batch = 0; batch < MAX_BATCHES && !stopping.aborted; batch++) {
    const { count } = await ctx.db.sql`
      DELETE FROM webhook_deliveries WHERE id = ANY (ARRAY (
        SELECT d.id FROM webhook_endpoints w JOIN webhook_deliveries d ON d.endpoint_id = w.id
        WHERE w.deleted_at IS NOT NULL LIMIT ${BATCH_ROWS}))`;
    if (count < BATCH_ROWS) break;
  }
  const { count } = await ctx.db.sql`
    DELETE FROM webhook_endpoints w WHERE deleted_at IS NOT NULL
      AND NOT EXISTS (SELECT 1 FROM webhook_deliveries d WHERE d.endpoint_id = w.id)`;
  return count;
}
