import type { Context } from "../../platform/context.ts";

/** As long as activity is kept: who comes back within this time has missed nothing. */
const WATCHED_MS = 24 * 3_600_000;
/** A watch that lasts this much less than it could is made longer. */
const RENEWAL_MS = 3_600_000;
const OLDER_TIMEOUT_MS = 5_000;
const LOOK_INTERVAL_MS = 20;

/**
 * Has the organization's activity written down from now on, for a day. Returns when that holds for every transaction
 * that ends later: one that looked for watchers before this was committed would write nothing down.
 */
export async function watchOrganization(ctx: Context, organizationId: string, signal: AbortSignal): Promise<void> {
  const now = ctx.clock.now().getTime();
  const until = new Date(now + WATCHED_MS).toISOString();
  const renewed = new Date(now + WATCHED_MS - RENEWAL_MS).toISOString();
  const [written] = await ctx.db.sql<{ xid: string }[]>`
    INSERT INTO webhook_watches AS w (organization_id, until) VALUES (${organizationId}, ${until}::timestamptz)
    ON CONFLICT (organization_id) DO UPDATE SET until = excluded.until WHERE w.until < ${renewed}::timestamptz
    RETURNING pg_current_xact_id()::text AS xid`;
  if (written) await untilOlderEnded(ctx, written.xid, signal);
}

/** Waits until the transactions that were under way at this one's time have ended; 5 s at most. */
async function untilOlderEnded(ctx: Context, xid: string, signal: AbortSignal): Promise<void> {
  const deadline = performance.now() + OLDER_TIMEOUT_MS;
  while (!signal.aborted && performance.now() < deadline) {
    const [row] = await ctx.db.sql<{ ended: boolean }[]>`
      SELECT pg_snapshot_xmin(pg_current_snapshot()) > ${xid}::xid8 AS ended`;
    if (row?.ended) return;
    await new Promise((resolve) => setTimeout(resolve, LOOK_INTERVAL_MS));
  }
}
