import type { EntitlementRecord } from "@quayside/contracts";
import { requireOverride } from "../../platform/authorize.ts";
import type { Context } from "../../platform/context.ts";
import { findEntitlement, toEntitlementRecord } from "./entitlement-record.ts";

/** A user's plan; null when none was ever set. Errors: `sign_in_required` for anybody but the entitlements service. */
export async function readEntitlement(ctx: Context, input: { userId: string }): Promise<EntitlementRecord | null> {
  requireOverride(ctx, "entitlements");
  const row = await findEntitlement(ctx.db, input.userId);
  return row && toEntitlementRecord(row);
}
