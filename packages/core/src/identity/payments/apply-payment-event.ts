import { type Database, paymentEvents, paymentSubscriptions, withTransaction } from "@quayside/db";
import { eq } from "drizzle-orm";
import { requireSystem } from "../../platform/authorize.ts";
import type { Context } from "../../platform/context.ts";
import { settleEntitlement } from "./settle-entitlement.ts";
import { joinFacts, NO_FACTS } from "./subscription-facts.ts";

/**
 * Adds a stored event to what is known of its subscription, then decides the entitlement of its user. A job: doing it
 * twice, in another order, or at once with other events of the user ends the same.
 */
export async function applyPaymentEvent(ctx: Context, input: { eventId: string }): Promise<void> {
  requireSystem(ctx);
  await withTransaction(ctx.db, async (tx) => {
    const [event] = await tx.orm.select().from(paymentEvents).where(eq(paymentEvents.id, input.eventId)).for("update");
    if (!event?.facts || event.subscriptionId === null || event.appliedAt) return;
    const users = await learn(tx, ctx, event.subscriptionId, event.facts);
    // In one order, so that two events that move subscriptions between users never wait for each other.
    for (const user of users.toSorted()) await settleEntitlement(tx, ctx, user);
    await tx.orm.update(paymentEvents).set({ appliedAt: ctx.clock.now() }).where(eq(paymentEvents.id, event.id));
  });
}

/** Returns the users whom it concerns: the subscription's, and the one that it had before. */
async function learn(
  tx: Database,
  ctx: Context,
  id: string,
  learnt: NonNullable<(typeof paymentEvents.$inferSelect)["facts"]>,
): Promise<string[]> {
  await tx.sql`SELECT pg_advisory_xact_lock(hashtextextended(${`payment-subscription:${id}`}, 0))`;
  const [before] = await tx.orm.select().from(paymentSubscriptions).where(eq(paymentSubscriptions.id, id));
  const facts = joinFacts(before?.facts ?? NO_FACTS, learnt);
  const userUid = facts.user?.value ?? null;
  const values = { id, userUid, facts, updatedAt: ctx.clock.now() };
  await tx.orm
    .insert(paymentSubscriptions)
    .values(values)
    .onConflictDoUpdate({ target: paymentSubscriptions.id, set: values });
  const users = [before?.userUid ?? null, userUid].filter((user) => user !== null);
  return [...new Set(users)];
}
