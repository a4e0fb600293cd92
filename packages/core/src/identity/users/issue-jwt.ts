import { PlatformError } from "@quayside/contracts";
import { issuedJwts, withTransaction } from "@quayside/db";
import { recordAudit } from "../../platform/audit.ts";
import { requireCaller } from "../../platform/authorize.ts";
import type { Context } from "../../platform/context.ts";
import { JWT_LIFETIME_MS, signJwt } from "../credentials/jwts.ts";

/** A JWT of 30 days for the signed-in person. Errors: `forbidden` for credentials that are given to programs. */
export async function issueJwt(ctx: Context): Promise<{ token: string; expiresAt: Date }> {
  const principal = requireCaller(ctx, "admin");
  if (principal.via.kind === "api_key" || principal.via.kind === "role_token") {
    throw new PlatformError("forbidden", "A JWT is issued to a person who signed in, not to a key or role token.");
  }
  const jti = ctx.ids.uuid();
  const issuedAt = ctx.clock.now();
  const expiresAt = new Date(issuedAt.getTime() + JWT_LIFETIME_MS);
  const organizationId = principal.organization.id;
  await withTransaction(ctx.db, async (tx) => {
    const userId = principal.user.id;
    await tx.orm.insert(issuedJwts).values({ id: jti, userId, organizationId, createdAt: issuedAt, expiresAt });
    await recordAudit(tx, ctx, { action: "jwt.issued", target: `user:${principal.user.name}`, details: { jti } });
  });
  const token = await signJwt(
    {
      jti,
      userId: principal.user.id,
      organizationId,
      permissions: principal.permissions,
      scopes: [...principal.scopes],
      issuedAt,
      expiresAt,
    },
    ctx.config.BASE_URL,
    ctx.config.JWT_SECRET,
  );
  return { token, expiresAt };
}
