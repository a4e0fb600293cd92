import {
  type ApiKeyRecord,
  type ApiScope,
  expandScopes,
  type KeyEnvironment,
  PlatformError,
  type Principal,
} from "@quayside/contracts";
import { apiKeys, memberships, withTransaction } from "@quayside/db";
import { and, eq } from "drizzle-orm";
import { recordAudit } from "../../platform/audit.ts";
import { requireCaller } from "../../platform/authorize.ts";
import type { Context } from "../../platform/context.ts";
import { generateApiKey, hashSecret } from "../credentials/secret-formats.ts";
import { findEntitlement, refuseWithoutPaidPlan } from "../entitlements/entitlement-record.ts";
import { toApiKeyRecord } from "./api-key-record.ts";

export interface NewApiKey {
  name: string;
  environment: KeyEnvironment;
  scopes: ApiScope[];
  expiresAt?: string | undefined;
  rateLimitOverride?: { read?: number | undefined; write?: number | undefined; admin?: number | undefined } | undefined;
  toolAllowlist?: string[] | undefined;
  tenantId?: string | undefined;
}

/**
 * A key of the caller; its secret is returned here only. Errors: `live_key_requires_paid_plan` (402) for a live key
 * without an active paid plan, `validation_failed` for a past `expiresAt` or a `tenantId` the caller is no member of.
 */
export async function createApiKey(ctx: Context, input: NewApiKey): Promise<{ key: ApiKeyRecord; secret: string }> {
  const principal = requireCaller(ctx, "admin");
  const now = ctx.clock.now();
  const expiresAt = input.expiresAt === undefined ? null : new Date(input.expiresAt);
  if (expiresAt && expiresAt <= now) throw invalid("expiresAt", "expiresAt must be in the future.");
  refuseStrongerKey(principal, input.scopes);
  const tenantId = await ownTenant(ctx, principal, input.tenantId);
  if (input.environment === "live") refuseWithoutPaidPlan(await findEntitlement(ctx.db, principal.user.uid), now);

  const { secret, prefix } = generateApiKey(input.environment);
  return withTransaction(ctx.db, async (tx) => {
    const [row] = await tx.orm
      .insert(apiKeys)
      .values({
        id: ctx.ids.uuid(),
        userId: principal.user.id,
        tenantId,
        name: input.name,
        environment: input.environment,
        scopes: [...new Set(input.scopes)],
        keyHash: hashSecret(secret),
        prefix,
        rateLimitOverride: (input.rateLimitOverride as Partial<Record<ApiScope, number>> | undefined) ?? null,
        toolAllowlist: input.toolAllowlist ?? null,
        createdAt: now,
        expiresAt,
      })
      .returning();
    if (!row) throw new Error("INSERT INTO api_keys returned no row.");
    await recordAudit(tx, ctx, { action: "api_key.created", target: `api_key:${row.id}`, details: { name: row.name } });
    return { key: toApiKeyRecord(row, now), secret };
  });
}

/** A key makes no key that can do more than itself. */
function refuseStrongerKey(principal: Principal, scopes: ApiScope[]): void {
  const missing = [...expandScopes(scopes)].find((scope) => !principal.scopes.has(scope));
  if (missing) throw new PlatformError("insufficient_scope", `The credential lacks the scope '${missing}' itself.`);
}

async function ownTenant(ctx: Context, principal: Principal, tenantId: string | undefined): Promise<string | null> {
  if (tenantId === undefined) {
    // A key made by a tenant's key stays in that tenant.
    return principal.via.kind === "api_key" ? principal.organization.id : null;
  }
  const [member] = await ctx.db.orm
    .select({ role: memberships.role })
    .from(memberships)
    .where(and(eq(memberships.organizationId, tenantId), eq(memberships.userId, principal.user.id)));
  if (!member) throw invalid("tenantId", "tenantId is not an organization that you are a member of.");
  if (principal.via.kind === "api_key" && tenantId !== principal.organization.id) {
    throw invalid("tenantId", "An API key makes keys for its own organization only.");
  }
  return tenantId;
}

function invalid(field: string, message: string): PlatformError {
  return new PlatformError("validation_failed", message, { issues: [{ field, code: "invalid_value", message }] });
}
