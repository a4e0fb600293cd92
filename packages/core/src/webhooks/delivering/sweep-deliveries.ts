import { requireSystem } from "../../platform/authorize.ts";
import type { Context } from "../../platform/context.ts";
import { wakeEndpoints } from "./wake-endpoints.ts";

/** Wakes endpoints with deliveries that are due, in case a worker died with the knowledge of them. A job. */
export async function sweepDeliveries(ctx: Context): Promise<number> {
  requireSystem(ctx);
  const rows = await ctx.db.sql<{ id: string }[]>`
    SELECT w.id FROM webhook_endpoints w
    WHERE w.status = 'enabled' AND (w.paused_until IS NULL OR w.paused_until <= ${ctx.clock.now().toISOString()}::timestamptz)
      AND EXISTS (SELECT 1 FROM webhook_deliveries d WHERE d.endpoint_id = w.id AND d.status = 'pending'
        AND d.next_attempt_at <= ${ctx.clock.now().toISOString()}::timestamptz)`;
  await wakeEndpoints(
    ctx.db,
    rows.map(({ id }) => id),
  );
  return rows.length;
}
