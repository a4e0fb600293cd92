import { issuedJwts, roleTokens, sessions, withTransaction } from "@quayside/db";
import { eq } from "drizzle-orm";
import { recordAudit } from "../../platform/audit.ts";
import { requireCaller } from "../../platform/authorize.ts";
import type { Context } from "../../platform/context.ts";
import { revokeApiKey } from "../api-keys/revoke-api-key.ts";
import { announceCredentialChange } from "../credentials/credential-cache.ts";

/** Revokes the credential that the request came with. An API key needs the scope `admin` to revoke itself. */
export async function logOut(ctx: Context): Promise<{ ok: true }> {
  const principal = requireCaller(ctx, "read");
  const { kind, id } = principal.via;
  if (kind === "api_key") {
    await revokeApiKey(ctx, { id });
    return { ok: true };
  }
  const table = { session: sessions, jwt: issuedJwts, role_token: roleTokens }[kind];
  await withTransaction(ctx.db, async (tx) => {
    await tx.orm.update(table).set({ revokedAt: ctx.clock.now() }).where(eq(table.id, id));
    await announceCredentialChange(tx);
    await recordAudit(tx, ctx, { action: "logout", target: `user:${principal.user.name}` });
  });
  return { ok: true };
}
