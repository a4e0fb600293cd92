import { type EntitlementRecord, type Plan, PlatformError } from "@quayside/contracts";
import { type Database, entitlements } from "@quayside/db";
import { eq } from "drizzle-orm";

export type EntitlementRow = typeof entitlements.$inferSelect;

export async function findEntitlement(db: Database, userUid: string): Promise<EntitlementRow | null> {
  const [row] = await db.orm.select().from(entitlements).where(eq(entitlements.userUid, userUid));
  return row ?? null;
}

/** Changes to one user's entitlement come one after another: each sees what the one before it stored. */
export async function lockEntitlement(tx: Database, userUid: string): Promise<void> {
  await tx.sql`SELECT pg_advisory_xact_lock(hashtextextended(${`entitlement:${userUid}`}, 0))`;
}

export function toEntitlementRecord(row: EntitlementRow): EntitlementRecord {
  return {
    userId: row.userUid,
    plan: row.plan,
    entitledUntil: row.entitledUntil?.toISOString() ?? null,
    source: row.source,
    updatedAt: row.updatedAt.toISOString(),
  };
}

/** Throws `live_key_requires_paid_plan` (402) unless the plan is a paid one and holds at `now`. */
export function refuseWithoutPaidPlan(
  entitlement: { plan: Plan | null; entitledUntil: Date | number | null } | null,
  now: Date,
): void {
  const { plan = null, entitledUntil = null } = entitlement ?? {};
  if (plan !== null && plan !== "free" && (entitledUntil === null || Number(entitledUntil) > now.getTime())) return;
  throw new PlatformError(
    "live_key_requires_paid_plan",
    "A live key needs an active paid plan; 'test' and 'dev' keys do not.",
  );
}
