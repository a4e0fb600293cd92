import { requireSystem } from "./authorize.ts";
import type { Context } from "./context.ts";

const GRACE = "1 day";

/** Removes what time has made useless: sessions, JWT rows, idempotency keys and rate-limit windows. */
export async function pruneExpired(ctx: Context): Promise<void> {
  requireSystem(ctx);
  const now = ctx.clock.now().toISOString();
  const { sql } = ctx.db;
  await sql`DELETE FROM sessions WHERE expires_at < ${now}::timestamptz - ${GRACE}::interval`;
  await sql`DELETE FROM issued_jwts WHERE expires_at < ${now}::timestamptz - ${GRACE}::interval`;
  await sql`DELETE FROM idempotency_keys WHERE expires_at < ${now}::timestamptz`;
  await sql`DELETE FROM rate_limit_windows WHERE window_start < ${now}::timestamptz - interval '10 minutes'`;
}
