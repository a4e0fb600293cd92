import type { Database } from "@quayside/db";
import type { Context } from "../../platform/context.ts";

/** Has a worker look for what is due to these endpoints, now, in the caller's transaction. */
export async function wakeEndpoints(tx: Database, endpointIds: readonly string[]): Promise<void> {
  if (endpointIds.length === 0) return;
  await tx.sql`
    SELECT graphile_worker.add_job('webhooks.deliver', payload := json_build_object('endpointId', id))
    FROM unnest(${endpointIds as string[]}::uuid[]) AS id`;
}

/**
 * Has a worker look again when the next delivery is due, and remembers the pace for it (undefined: no other than before).
 * One such job an endpoint is enough. Gives the time in Unix milliseconds; null when nothing waits.
 */
export async function wakeForNext(
  ctx: Context,
  endpointId: string,
  pace: number | null | undefined,
): Promise<number | null> {
  const [next] = await ctx.db.sql<{ at: number }[]>`
    WITH learnt AS (
      UPDATE webhook_endpoints SET pace = ${pace ?? null}
      WHERE id = ${endpointId} AND ${pace !== undefined} AND pace IS DISTINCT FROM ${pace ?? null}
    ), next AS (
      SELECT greatest(min(d.next_attempt_at), max(w.paused_until)) AS at
      FROM webhook_deliveries d JOIN webhook_endpoints w ON w.id = d.endpoint_id
      WHERE d.endpoint_id = ${endpointId} AND d.status = 'pending' AND w.status = 'enabled'
    )
    SELECT (extract(epoch FROM next.at) * 1000)::float8 AS at, graphile_worker.add_job('webhooks.deliver',
      payload := json_build_object('endpointId', ${endpointId}::text), run_at := next.at,
      job_key := ${`webhooks:${endpointId}`})
    FROM next WHERE next.at IS NOT NULL`;
  return next?.at ?? null;
}
