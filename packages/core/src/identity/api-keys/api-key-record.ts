import type { ApiKeyRecord } from "@quayside/contracts";
import type { apiKeys } from "@quayside/db";

export function toApiKeyRecord(row: typeof apiKeys.$inferSelect, now: Date): ApiKeyRecord {
  const expired = row.expiresAt !== null && row.expiresAt <= now;
  return {
    id: row.id,
    name: row.name,
    environment: row.environment,
    scopes: row.scopes,
    prefix: row.prefix,
    expiresAt: row.expiresAt?.toISOString() ?? null,
    rateLimitOverride: row.rateLimitOverride,
    toolAllowlist: row.toolAllowlist,
    tenantId: row.tenantId,
    createdAt: row.createdAt.toISOString(),
    lastUsedAt: row.lastUsedAt?.toISOString() ?? null,
    revokedAt: row.revokedAt?.toISOString() ?? null,
    status: row.revokedAt ? "revoked" : expired ? "expired" : "active",
  };
}
