import { PlatformError, type Principal } from "@quayside/contracts";
import { apiKeys } from "@quayside/db";
import { and, eq } from "drizzle-orm";
import type { Context } from "../../platform/context.ts";

/** Throws `not_found` unless the key is the caller's own; another owner's is as if it were not there. */
export async function requireOwnApiKey(ctx: Context, principal: Principal, id: string): Promise<void> {
  const [key] = await ctx.db.orm
    .select({ id: apiKeys.id })
    .from(apiKeys)
    .where(and(eq(apiKeys.id, id), eq(apiKeys.userId, principal.user.id)));
  if (!key) throw new PlatformError("not_found", `No API key of yours has the id ${id}.`);
}
