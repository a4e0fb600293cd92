import type { Database } from "@quayside/db";

/** Has a worker look for what is due to these endpoints, now, in the caller's transaction. */
export async function wakeEndpoints(tx: Database, endpointIds: readonly string[]): Promise<void> {
  if (endpointIds.length === 0) return;
  await tx.sql`
    SELECT graphile_worker.add_job('webhooks.deliver', payload := json_build_object('endpointId', id))
    FROM unnest(${endpointIds as string[]}::uuid[]) AS id`;
}

/** The same at a later time; one such job an endpoint is enough. */
export async function wakeEndpointAt(tx: Database, endpointId: string, at: Date): Promise<void> {
  await tx.sql`
    SELECT graphile_worker.add_job('webhooks.deliver', payload := json_build_object('endpointId', ${endpointId}::text),
      run_at := ${at.toISOString()}::timestamptz, job_key := ${`webhooks:${endpointId}`})`;
}
