import type { Principal } from "@quayside/contracts";
import { requireCaller } from "../../platform/authorize.ts";
import type { Context } from "../../platform/context.ts";

/** Who the caller is and what the credential may do. */
export async function whoAmI(ctx: Context): Promise<Principal> {
  return requireCaller(ctx, "read");
}
