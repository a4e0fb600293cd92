import { type Database, withTransaction } from "@quayside/db";
import { requireSystem } from "../../platform/authorize.ts";
import type { Context } from "../../platform/context.ts";
import { enqueue } from "../../platform/jobs.ts";
import { findEntitlement, lockEntitlement } from "../entitlements/entitlement-record.ts";
import { storeEntitlement } from "../entitlements/store-entitlement.ts";
import { decideEntitlement } from "./decide-entitlement.ts";
import { findSubscriptions } from "./find-subscriptions.ts";

const SOURCE = "payments";

/** Decides a user's entitlement anew when one subscription ends and another goes on. A job. */
export async function refreshEntitlement(ctx: Context, input: { userId: string }): Promise<void> {
  requireSystem(ctx);
  await withTransaction(ctx.db, (tx) => settleEntitlement(tx, ctx, input.userId));
}

/** Stores what the user's subscriptions give, unless somebody set the plan by hand after the newest event was made. */
export async function settleEntitlement(tx: Database, ctx: Context, userUid: string): Promise<void> {
  await lockEntitlement(tx, userUid);
  const before = await findEntitlement(tx, userUid);
  const now = ctx.clock.now();
  const decision = decideEntitlement(await findSubscriptions(tx, userUid), now.getTime() / 1_000);
  if (!decision) {
    // The last subscription went over to another user.
    const paidBefore = before?.source === SOURCE && before.setByHandAt === null && before.plan !== "free";
    if (paidBefore) await store({ plan: "free", until: null });
    return;
  }
  if (before?.setByHandAt && before.setByHandAt.getTime() >= decision.newestEventAt * 1_000) return;
  await store(decision);
  if (decision.decideAgainAt !== null) {
    const runAt = new Date(decision.decideAgainAt * 1_000);
    await enqueue(tx, "identity.refresh_entitlement", { userId: userUid }, { runAt, jobKey: `entitlement:${userUid}` });
  }

  async function store({ plan, until }: Pick<NonNullable<typeof decision>, "plan" | "until">): Promise<void> {
    const entitledUntil = until === null ? null : new Date(until * 1_000);
    const same =
      before?.plan === plan &&
      before.source === SOURCE &&
      before.setByHandAt === null &&
      before.entitledUntil?.getTime() === entitledUntil?.getTime();
    if (same) return;
    await storeEntitlement(tx, ctx, { userUid, plan, entitledUntil, source: SOURCE, setByHandAt: null }, before);
  }
}
