import { PlatformError } from "@quayside/contracts";
import { sessions, users, withTransaction } from "@quayside/db";
import { eq } from "drizzle-orm";
import { recordAudit } from "../../platform/audit.ts";
import type { Context } from "../../platform/context.ts";
import { SESSION_LIFETIME_MS, signSession } from "../credentials/session-tokens.ts";
import { verifyPassword } from "../passwords.ts";

export interface LogIn {
  token: string;
  expiresAt: Date;
  user: { id: number; name: string; superAdmin: boolean };
}

/**
 * A session for a name and password. Open to anybody, so it is limited by address before anything else. Errors:
 * `rate_limited`, `password_login_disabled`, `invalid_credentials` after the same work whether the name exists or not.
 */
export async function logIn(ctx: Context, input: { username: string; password: string }): Promise<LogIn> {
  await limitLogins(ctx);
  if (ctx.config.REGISTRY_AUTH_MODE === "sso") {
    throw new PlatformError("password_login_disabled", "Password login is disabled here; sign in with single sign-on.");
  }
  const [user] = await ctx.db.orm.select().from(users).where(eq(users.name, input.username));
  const fits = await verifyPassword(user?.passwordHash ?? null, input.password);
  if (!user || !fits || user.disabledAt) {
    await recordAudit(ctx.db, ctx, { action: "login.failed", target: `user:${input.username}` });
    throw new PlatformError("invalid_credentials", "The user name or password is wrong.");
  }
  const id = ctx.ids.uuid();
  const now = ctx.clock.now();
  const expiresAt = new Date(now.getTime() + SESSION_LIFETIME_MS);
  await withTransaction(ctx.db, async (tx) => {
    await tx.orm.insert(sessions).values({ id, userId: user.id, createdAt: now, expiresAt });
    await recordAudit(tx, ctx, { action: "login.succeeded", actor: `user:${user.name}`, target: `user:${user.name}` });
  });
  return {
    token: signSession(id, ctx.config.SESSION_SECRET),
    expiresAt,
    user: { id: user.id, name: user.name, superAdmin: user.superAdmin },
  };
}

async function limitLogins(ctx: Context): Promise<void> {
  const decision = await ctx.limiter.hitExactly(`login:${ctx.ip ?? "local"}`, ctx.config.RATE_LIMIT_LOGIN_PER_MINUTE);
  if (decision.allowed) return;
  throw new PlatformError(
    "rate_limited",
    `Too many logins from this address: ${decision.limit} a minute are allowed.`,
    {
      retryAfterMs: decision.resetMs,
    },
  );
}
