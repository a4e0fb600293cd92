import { requireSystem } from "./authorize.ts";
import type { Context } from "./context.ts";

const GRACE = "1 day";
/** The provider repeats an event for 30 days at most; one that comes again after this changes nothing either. */
const PAYMENT_EVENTS_KEPT = "90 days";

/** Removes what time has made useless: sessions, JWT rows, idempotency keys, rate-limit windows, applied payment events. */
export async function pruneExpired(ctx: Context): Promise<void> {
  requireSystem(ctx);
  const now = ctx.clock.now().toISOString();
  const { sql } = ctx.db;
  await sql`DELETE FROM sessions WHERE expires_at < ${now}::timestamptz - ${GRACE}::interval`;
  await sql`DELETE FROM issued_jwts WHERE expires_at < ${now}::timestamptz - ${GRACE}::interval`;
  await sql`DELETE FROM idempotency_keys WHERE expires_at < ${now}::timestamptz`;
  await sql`DELETE FROM rate_limit_windows WHERE window_start < ${now}::timestamptz - interval '10 minutes'`;
  await sql`DELETE FROM payment_events WHERE received_at < ${now}::timestamptz - ${PAYMENT_EVENTS_KEPT}::interval
    AND (applied_at IS NOT NULL OR facts IS NULL)`;
}
