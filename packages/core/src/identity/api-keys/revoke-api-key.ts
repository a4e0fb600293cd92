import { PlatformError } from "@quayside/contracts";
import { apiKeys, withTransaction } from "@quayside/db";
import { and, eq, isNull } from "drizzle-orm";
import { recordAudit } from "../../platform/audit.ts";
import { requireCaller } from "../../platform/authorize.ts";
import type { Context } from "../../platform/context.ts";
import { announceCredentialChange } from "../credentials/credential-cache.ts";

/** Ends a key for good; every process refuses it within 1 s. Errors: `not_found`, also for another owner's key. */
export async function revokeApiKey(ctx: Context, input: { id: string }): Promise<void> {
  const principal = requireCaller(ctx, "admin");
  await withTransaction(ctx.db, async (tx) => {
    const [row] = await tx.orm
      .update(apiKeys)
      .set({ revokedAt: ctx.clock.now() })
      .where(and(eq(apiKeys.id, input.id), eq(apiKeys.userId, principal.user.id), isNull(apiKeys.revokedAt)))
      .returning({ id: apiKeys.id });
    if (!row) throw new PlatformError("not_found", `No active API key of yours has the id ${input.id}.`);
    await announceCredentialChange(tx);
    await recordAudit(tx, ctx, { action: "api_key.revoked", target: `api_key:${row.id}` });
  });
}
