import type { EntitlementRecord, Plan } from "@quayside/contracts";
import { withTransaction } from "@quayside/db";
import { requireOverride } from "../../platform/authorize.ts";
import type { Context } from "../../platform/context.ts";
import { readNewestEventAt } from "../payments/find-subscriptions.ts";
import { findEntitlement, lockEntitlement, toEntitlementRecord } from "./entitlement-record.ts";
import { storeEntitlement } from "./store-entitlement.ts";

export interface EntitlementByHand {
  /** Public id of the user; it need not exist yet. */
  userId: string;
  plan: Plan;
  entitledUntil?: string | null | undefined;
  source: string;
}

/**
 * Sets a user's plan. It stands until a payment event that is created later arrives. Every process knows it within
 * 1 s. Errors: `sign_in_required` for anybody but the entitlements service.
 */
export async function putEntitlement(ctx: Context, input: EntitlementByHand): Promise<EntitlementRecord> {
  requireOverride(ctx, "entitlements");
  return withTransaction(ctx.db, async (tx) => {
    await lockEntitlement(tx, input.userId);
    const before = await findEntitlement(tx, input.userId);
    // The provider's clock may be ahead of ours; what is set now is later than what is known.
    const newest = await readNewestEventAt(tx, input.userId);
    const setByHandAt = new Date(Math.max(ctx.clock.now().getTime(), newest ?? 0));
    const entitledUntil = input.entitledUntil ? new Date(input.entitledUntil) : null;
    const { userId: userUid, plan, source } = input;
    return toEntitlementRecord(
      await storeEntitlement(tx, ctx, { userUid, plan, entitledUntil, source, setByHandAt }, before),
    );
  });
}
