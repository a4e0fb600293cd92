import { type ApiScope, PlatformError, type RestMeta, type RouteAuth } from "@quayside/contracts";
import { requireCaller, resolvePrincipal, secretsEqual } from "@quayside/core";
import type { RequestContext } from "./request-context.ts";

/**
 * Finds out who asks, as far as the route wants to know, and keeps it in the context. Throws `invalid_credentials`
 * when a credential is wrong, `cross_site_request` when a cookie came from another site with a change.
 */
async function authenticate(ctx: RequestContext, auth: RouteAuth): Promise<void> {
  if (auth === "none" || ctx.principal || ctx.override) return;
  if (auth === "gateway" || auth === "entitlements") return acceptServiceSecret(ctx, auth);
  if (auth !== "caller") {
    acceptOverride(ctx, auth);
    if (ctx.override || auth !== "super") {
      requireOverride(ctx, auth);
      return;
    }
  }
  const { bearer, cookie } = ctx.given;
  if (bearer !== null) {
    ctx.principal = await resolvePrincipal(ctx, bearer);
  } else if (cookie !== null) {
    refuseCrossSite(ctx);
    ctx.principal = await resolvePrincipal(ctx, cookie);
  }
}

/** The secret of one service's door, compared in constant time. An unset one closes the door with 503. */
function acceptServiceSecret(ctx: RequestContext, service: "gateway" | "entitlements"): void {
  const door = {
    gateway: {
      variable: "GATEWAY_SECRET",
      header: "'Authorization: Bearer <secret>'",
      given: ctx.given.bearer,
      secret: ctx.config.GATEWAY_SECRET,
    },
    entitlements: {
      variable: "ENTITLEMENTS_SECRET",
      header: "X-Internal-Secret",
      given: ctx.given.internalSecret,
      secret: ctx.config.ENTITLEMENTS_SECRET,
    },
  }[service];
  if (door.secret === undefined) {
    throw new PlatformError("not_configured", `This is closed: the server has no ${door.variable}.`);
  }
  if (door.given === null) throw new PlatformError("sign_in_required", `This needs ${door.header}.`);
  if (!secretsEqual(door.given, door.secret)) throw wrong(door.header);
  ctx.override = service;
}

function acceptOverride(ctx: RequestContext, auth: RouteAuth): void {
  const { internalSecret, superAdminToken } = ctx.given;
  if (superAdminToken !== null && auth !== "internal") {
    if (!secretsEqual(superAdminToken, ctx.config.SUPER_ADMIN_TOKEN)) throw wrong("X-Super-Admin-Token");
    ctx.override = "super";
  } else if (internalSecret !== null && auth !== "super") {
    if (!secretsEqual(internalSecret, ctx.config.INTERNAL_API_SECRET)) throw wrong("X-Internal-Secret");
    ctx.override = "internal";
  }
}

function requireOverride(ctx: RequestContext, auth: RouteAuth): void {
  if (ctx.override) return;
  const header = auth === "internal" ? "X-Internal-Secret" : "X-Internal-Secret or X-Super-Admin-Token";
  throw new PlatformError("sign_in_required", `This needs the header ${header}.`);
}

function wrong(header: string): PlatformError {
  return new PlatformError("invalid_credentials", `The value of ${header} is wrong.`);
}

function refuseCrossSite(ctx: RequestContext): void {
  if (ctx.given.safe || ctx.given.sameOrigin) return;
  throw new PlatformError(
    "cross_site_request",
    "A change that is signed in by cookie must come from this site; other programs send a bearer credential.",
  );
}

/**
 * Lets a request in: who asks, with which scope, how often. It comes before the input is looked at, so that a stranger
 * learns nothing of what a right input would be. Throws 401, 403 or 429.
 */
export async function admit(ctx: RequestContext, rest: RestMeta): Promise<void> {
  if (ctx.admitted) return;
  await authenticate(ctx, rest.auth);
  if (rest.auth === "caller") requireCaller(ctx, rest.scope ?? "admin");
  else if (rest.auth !== "none" && !ctx.override) requireCaller(ctx, "admin");
  if (rest.scope) limitApiKey(ctx, rest.scope);
}

/** Counts the request against its API key's limit for the scope. Throws `rate_limited` (429). */
function limitApiKey(ctx: RequestContext, scope: ApiScope): void {
  const { principal, config } = ctx;
  if (principal?.via.kind !== "api_key") return;
  const defaults = {
    read: config.RATE_LIMIT_KEY_READ_PER_MINUTE,
    write: config.RATE_LIMIT_KEY_WRITE_PER_MINUTE,
    admin: config.RATE_LIMIT_KEY_ADMIN_PER_MINUTE,
  };
  const limit = principal.rateLimitOverride?.[scope] ?? defaults[scope];
  const decision = ctx.limiter.hit(`key:${principal.via.id}:${scope}`, limit);
  ctx.rate = { ...decision, policy: scope };
  if (decision.allowed) return;
  throw new PlatformError("rate_limited", `This API key may make ${limit} '${scope}' requests a minute.`, {
    retryAfterMs: decision.resetMs,
  });
}
