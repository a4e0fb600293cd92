import { PlatformError, type VerifiedApiKey } from "@quayside/contracts";
import type { Context } from "../../platform/context.ts";
import { lookUpApiKey } from "../credentials/resolve-principal.ts";

const FAILURES_PER_MINUTE = 120;

/**
 * What a gateway needs to know of a key. The key is the only credential. Errors: `invalid_credentials` (401) for an
 * unknown, revoked, expired or malformed key; `rate_limited` in its place after 120 of them a minute from one address.
 */
export async function verifyApiKey(ctx: Context, input: { key: string }): Promise<VerifiedApiKey> {
  const bucket = `verify-failures:${ctx.ip ?? "local"}`;
  try {
    const row = await lookUpApiKey(ctx, input.key);
    return {
      userId: row.uid,
      apiKeyId: row.id,
      scopes: row.scopes,
      environment: row.environment,
      plan: row.plan ?? "free",
      entitledUntil: row.entitledUntil === null ? null : new Date(row.entitledUntil).toISOString(),
      toolAllowlist: row.toolAllowlist,
      tenantId: row.tenantId,
      rateLimitOverride: row.rateLimitOverride as Record<string, number> | null,
    };
  } catch (error) {
    if (!(error instanceof PlatformError) || error.code !== "invalid_credentials") throw error;
    // Only refused keys are limited: a gateway asks for all of its callers from one address.
    const decision = ctx.limiter.hit(bucket, FAILURES_PER_MINUTE);
    if (decision.allowed) throw error;
    throw new PlatformError("rate_limited", "Too many refused keys from this address; wait a minute.", {
      retryAfterMs: decision.resetMs,
    });
  }
}
