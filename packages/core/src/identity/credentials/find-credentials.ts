import type { ApiScope, KeyEnvironment, Plan, TokenRole } from "@quayside/contracts";
import type { Database } from "@quayside/db";

/** What every kind of credential shares: its owner, for whom it acts, and until when. Times are Unix milliseconds. */
interface CredentialRow {
  id: string;
  expiresAt: number | null;
  revokedAt: number | null;
  userId: number;
  uid: string;
  userName: string;
  superAdmin: boolean;
  disabledAt: number | null;
  organizationId: string;
  organizationSlug: string;
}

export interface ApiKeyRow extends CredentialRow {
  environment: KeyEnvironment;
  scopes: ApiScope[];
  tenantId: string | null;
  rateLimitOverride: Partial<Record<ApiScope, number>> | null;
  toolAllowlist: string[] | null;
  plan: Plan | null;
  entitledUntil: number | null;
}

export interface RoleTokenRow extends CredentialRow {
  role: TokenRole;
  packageScope: string | null;
}

export type SessionRow = CredentialRow;

/** One indexed look-up by hash. The statement is prepared once a connection. */
export async function findApiKey(db: Database, keyHash: Buffer): Promise<ApiKeyRow | null> {
  const [row] = await db.sql<ApiKeyRow[]>`
    SELECT k.id, ${epoch(db, "k.expires_at")} AS "expiresAt", ${epoch(db, "k.revoked_at")} AS "revokedAt",
      u.id AS "userId", u.uid, u.name AS "userName", u.super_admin AS "superAdmin",
      ${epoch(db, "u.disabled_at")} AS "disabledAt", o.id AS "organizationId", o.slug AS "organizationSlug",
      k.environment, k.scopes, k.tenant_id AS "tenantId", k.rate_limit_override AS "rateLimitOverride",
      k.tool_allowlist AS "toolAllowlist", e.plan, ${epoch(db, "e.entitled_until")} AS "entitledUntil"
    FROM api_keys k
    JOIN users u ON u.id = k.user_id
    JOIN organizations o ON CASE WHEN k.tenant_id IS NULL THEN o.personal_user_id = u.id ELSE o.id = k.tenant_id END
    LEFT JOIN entitlements e ON e.user_uid = u.uid
    WHERE k.key_hash = ${keyHash}
      -- Who left the organization takes no key along.
      AND (k.tenant_id IS NULL OR EXISTS (
        SELECT 1 FROM memberships m WHERE m.organization_id = k.tenant_id AND m.user_id = k.user_id))`;
  return row ?? null;
}

export async function findRoleToken(db: Database, tokenHash: Buffer): Promise<RoleTokenRow | null> {
  const [row] = await db.sql<RoleTokenRow[]>`
    SELECT t.id, ${epoch(db, "t.expires_at")} AS "expiresAt", ${epoch(db, "t.revoked_at")} AS "revokedAt",
      u.id AS "userId", u.uid, u.name AS "userName", u.super_admin AS "superAdmin",
      ${epoch(db, "u.disabled_at")} AS "disabledAt", o.id AS "organizationId", o.slug AS "organizationSlug",
      t.role, t.package_scope AS "packageScope"
    FROM role_tokens t
    JOIN users u ON u.id = t.user_id
    JOIN organizations o ON o.id = t.organization_id
    WHERE t.token_hash = ${tokenHash}`;
  return row ?? null;
}

export async function findSession(db: Database, sessionId: string): Promise<SessionRow | null> {
  const [row] = await db.sql<SessionRow[]>`
    SELECT s.id, ${epoch(db, "s.expires_at")} AS "expiresAt", ${epoch(db, "s.revoked_at")} AS "revokedAt",
      u.id AS "userId", u.uid, u.name AS "userName", u.super_admin AS "superAdmin",
      ${epoch(db, "u.disabled_at")} AS "disabledAt", o.id AS "organizationId", o.slug AS "organizationSlug"
    FROM sessions s
    JOIN users u ON u.id = s.user_id
    JOIN organizations o ON o.personal_user_id = u.id
    WHERE s.id = ${sessionId}`;
  return row ?? null;
}

export async function findJwt(db: Database, jti: string): Promise<SessionRow | null> {
  const [row] = await db.sql<SessionRow[]>`
    SELECT j.id, ${epoch(db, "j.expires_at")} AS "expiresAt", ${epoch(db, "j.revoked_at")} AS "revokedAt",
      u.id AS "userId", u.uid, u.name AS "userName", u.super_admin AS "superAdmin",
      ${epoch(db, "u.disabled_at")} AS "disabledAt", o.id AS "organizationId", o.slug AS "organizationSlug"
    FROM issued_jwts j
    JOIN users u ON u.id = j.user_id
    JOIN organizations o ON o.id = j.organization_id
    WHERE j.id = ${jti}`;
  return row ?? null;
}

/** A timestamp column as Unix milliseconds; `column` is a constant of this file. */
function epoch(db: Database, column: string) {
  return db.sql.unsafe(`(extract(epoch FROM ${column}) * 1000)::float8`);
}
