import type { ApiKeyRecord } from "@quayside/contracts";
import { apiKeys } from "@quayside/db";
import { desc, eq } from "drizzle-orm";
import { requireCaller } from "../../platform/authorize.ts";
import type { Context } from "../../platform/context.ts";
import { toApiKeyRecord } from "./api-key-record.ts";

const MAX_KEYS = 1_000;

/** The caller's own keys, newest first; at most 1,000. */
export async function listApiKeys(ctx: Context): Promise<ApiKeyRecord[]> {
  const principal = requireCaller(ctx, "admin");
  const rows = await ctx.db.orm
    .select()
    .from(apiKeys)
    .where(eq(apiKeys.userId, principal.user.id))
    .orderBy(desc(apiKeys.createdAt), desc(apiKeys.id))
    .limit(MAX_KEYS);
  const now = ctx.clock.now();
  return rows.map((row) => toApiKeyRecord(row, now));
}
