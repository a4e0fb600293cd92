import { type JobName, type JobPayload, jobPayloads } from "@quayside/contracts";
import type { Database } from "@quayside/db";

export interface JobOptions {
  /** A second job of the same key replaces the first while that is not running. */
  jobKey?: string;
  /** Jobs of one queue run one after another, oldest first. */
  queueName?: string;
  runAt?: Date;
  /** Tries altogether, default 25. The time between them grows exponentially. */
  maxAttempts?: number;
}

/** Adds a job in the caller's transaction: it exists when and only when the change does. */
export async function enqueue<N extends JobName>(
  tx: Database,
  name: N,
  payload: JobPayload<N>,
  options: JobOptions = {},
): Promise<void> {
  const body = JSON.stringify(jobPayloads[name].parse(payload));
  await tx.sql`SELECT graphile_worker.add_job(${name}, payload := ${body}::json,
    queue_name := ${options.queueName ?? null}, run_at := ${options.runAt?.toISOString() ?? null}::timestamptz,
    max_attempts := ${options.maxAttempts ?? 25}::int, job_key := ${options.jobKey ?? null})`;
}
