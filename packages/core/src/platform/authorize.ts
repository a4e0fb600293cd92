import { type ApiScope, PlatformError, type Principal } from "@quayside/contracts";
import type { Context, Override } from "./context.ts";

/** The signed-in caller, who has the scope. Throws `sign_in_required` (401) or `insufficient_scope` (403). */
export function requireCaller(ctx: Context, scope: ApiScope): Principal {
  const { principal } = ctx;
  if (!principal) {
    throw new PlatformError(
      "sign_in_required",
      "Sign in required: send 'Authorization: Bearer <API key, session token or JWT>'.",
    );
  }
  if (!principal.scopes.has(scope)) {
    throw new PlatformError(
      "insufficient_scope",
      `This needs the scope '${scope}', which the credential does not have.`,
    );
  }
  return principal;
}

/** A super admin: the super-admin token, or a user who is one. Throws 401 or 403. */
export function requireSuperAdmin(ctx: Context): void {
  if (ctx.override === "super" || ctx.override === "system") return;
  const principal = requireCaller(ctx, "admin");
  if (!principal.user.superAdmin) throw new PlatformError("forbidden", "Only a super admin may do this.");
}

/** The platform itself: jobs and start-up. Reaching this with a caller is a programming error. */
export function requireSystem(ctx: Context): void {
  if (ctx.override !== "system") throw new PlatformError("forbidden", "Only the platform itself may do this.");
}

/** The holder of one door's secret. Throws `sign_in_required` (401). */
export function requireOverride(ctx: Context, override: Override): void {
  if (ctx.override === override || ctx.override === "system") return;
  throw new PlatformError("sign_in_required", `This is for the ${override} service, with its own secret.`);
}

/** Who is named in audit events and logs. */
export function actorOf(ctx: Context): string {
  if (ctx.principal) return `user:${ctx.principal.user.name}`;
  if (ctx.override === "super") return "system:super-admin-token";
  if (ctx.override === "system") return "system:platform";
  return ctx.override ? `system:${ctx.override}` : "anonymous";
}
