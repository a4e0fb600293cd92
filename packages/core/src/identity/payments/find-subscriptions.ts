import type { SubscriptionFacts } from "@quayside/contracts";
import { type Database, paymentSubscriptions } from "@quayside/db";
import { desc, eq } from "drizzle-orm";
import { newestEventAt } from "./subscription-facts.ts";

/** More than one account ever has; the newest count. */
const MAX_SUBSCRIPTIONS = 1_000;

export async function findSubscriptions(
  tx: Database,
  userUid: string,
): Promise<{ id: string; facts: SubscriptionFacts }[]> {
  return tx.orm
    .select({ id: paymentSubscriptions.id, facts: paymentSubscriptions.facts })
    .from(paymentSubscriptions)
    .where(eq(paymentSubscriptions.userUid, userUid))
    .orderBy(desc(paymentSubscriptions.updatedAt), desc(paymentSubscriptions.id))
    .limit(MAX_SUBSCRIPTIONS);
}

/** When the newest applied event about the user was made, in Unix milliseconds; null when there is none. */
export async function readNewestEventAt(tx: Database, userUid: string): Promise<number | null> {
  const subscriptions = await findSubscriptions(tx, userUid);
  if (subscriptions.length === 0) return null;
  return Math.max(...subscriptions.map(({ facts }) => newestEventAt(facts))) * 1_000;
}
