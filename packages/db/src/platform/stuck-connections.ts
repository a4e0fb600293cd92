import type { Database } from "./client.ts";

const CHECK_INTERVAL_MS = 1_000;
const STUCK_AFTER_MS = 5_000;

/**
 * Ends connections of this platform that PostgreSQL has waited for in the middle of a statement for 5 s. That is a
 * driver that forgot to go on: no server-side time-out covers it, and the request behind it would wait for ever. The
 * driver then reports a lost connection and the request fails as one that can be repeated.
 */
export async function endStuckConnections(db: Database, stuckAfterMs = STUCK_AFTER_MS): Promise<number> {
  const { count } = await db.sql`
    SELECT pg_terminate_backend(pid) FROM pg_stat_activity
    WHERE datname = current_database() AND usename = current_user AND application_name LIKE 'quayside-%'
      AND pid <> pg_backend_pid() AND state = 'active' AND wait_event = 'ClientRead'
      AND state_change < now() - make_interval(secs => ${stuckAfterMs / 1_000}::float8)`;
  return count;
}

/** Looks every second. The returned function ends it. */
export function watchForStuckConnections(db: Database, onEnded: (count: number) => void): () => void {
  const timer = setInterval(() => {
    endStuckConnections(db).then(
      (count) => {
        if (count > 0) onEnded(count);
      },
      // The database is away; there is nothing to end.
      () => {},
    );
  }, CHECK_INTERVAL_MS);
  timer.unref();
  return () => clearInterval(timer);
}
