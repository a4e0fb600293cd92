import {
  type ApiScope,
  expandScopes,
  type Permission,
  PlatformError,
  type Principal,
  ROLE_PERMISSIONS,
} from "@quayside/contracts";
import type { Context } from "../../platform/context.ts";
import { isUuid } from "../../platform/ids.ts";
import { refuseWithoutPaidPlan } from "../entitlements/entitlement-record.ts";
import {
  type ApiKeyRow,
  findApiKey,
  findJwt,
  findRoleToken,
  findSession,
  type RoleTokenRow,
  type SessionRow,
} from "./find-credentials.ts";
import { readJwt } from "./jwts.ts";
import { hashSecret, isWellFormedApiKey, isWellFormedRoleToken, ROLE_TOKEN_PREFIX } from "./secret-formats.ts";
import { readSession, SESSION_PREFIX } from "./session-tokens.ts";

const ALL_SCOPES = expandScopes(["admin"]);
const MAX_CREDENTIAL_LENGTH = 4_096;

type ResolveServices = Pick<Context, "db" | "config" | "clock" | "credentials" | "keyUse">;

/**
 * Who a credential stands for: an API key, a role token, a session token or a JWT. Throws `invalid_credentials` (401)
 * that says what is wrong with it, or `live_key_requires_paid_plan` (402) for a live key whose owner's plan lapsed.
 */
export async function resolvePrincipal(services: ResolveServices, credential: string): Promise<Principal> {
  if (credential.length > MAX_CREDENTIAL_LENGTH) throw refused("The credential is too long to be one of ours.");
  if (credential.startsWith(ROLE_TOKEN_PREFIX)) return fromRoleToken(services, credential);
  if (credential.startsWith(SESSION_PREFIX)) return fromSession(services, credential);
  if (credential.startsWith("qs_")) return fromApiKey(services, credential);
  if (credential.split(".").length === 3) return fromJwt(services, credential);
  throw refused("The credential is not an API key (qs_…), role token (qst_…), session token (qss_…) or JWT.");
}

/** The row of an API key that may be used now. Throws `invalid_credentials` when unknown, revoked, expired or malformed. */
export async function lookUpApiKey(services: ResolveServices, key: string): Promise<ApiKeyRow> {
  if (!isWellFormedApiKey(key)) throw refused("The API key is malformed: its form or checksum is wrong.");
  const keyHash = hashSecret(key);
  const row = await services.credentials.get(`key:${keyHash.toString("base64")}`, () =>
    findApiKey(services.db, keyHash),
  );
  if (!row) throw refused("The API key is not known.");
  refuseUnusable(services, row, "API key");
  services.keyUse.record(row.id);
  return row;
}

async function fromApiKey(services: ResolveServices, key: string): Promise<Principal> {
  const row = await lookUpApiKey(services, key);
  if (row.environment === "live") refuseWithoutPaidPlan(row, services.clock.now());
  return principalOf(row, {
    scopes: expandScopes(row.scopes),
    permissions: row.scopes.includes("admin")
      ? ROLE_PERMISSIONS.maintainer
      : row.scopes.includes("write")
        ? ROLE_PERMISSIONS["ci-publish"]
        : ROLE_PERMISSIONS["ci-readonly"],
    via: { kind: "api_key", id: row.id },
    rateLimitOverride: row.rateLimitOverride,
    // A key is given to programs; the override stays with the person.
    superAdmin: row.superAdmin && row.scopes.includes("admin"),
  });
}

async function fromRoleToken(services: ResolveServices, token: string): Promise<Principal> {
  if (!isWellFormedRoleToken(token)) throw refused("The role token is malformed: its form or checksum is wrong.");
  const tokenHash = hashSecret(token);
  const row: RoleTokenRow | null = await services.credentials.get(`role:${tokenHash.toString("base64")}`, () =>
    findRoleToken(services.db, tokenHash),
  );
  if (!row) throw refused("The role token is not known.");
  refuseUnusable(services, row, "role token");
  return principalOf(row, {
    scopes: scopesOfRole(row),
    permissions: ROLE_PERMISSIONS[row.role],
    via: { kind: "role_token", id: row.id },
    rateLimitOverride: null,
    superAdmin: row.superAdmin && row.role === "admin",
  });
}

function scopesOfRole(row: RoleTokenRow): ReadonlySet<ApiScope> {
  if (row.role === "admin" && row.packageScope === null) return ALL_SCOPES;
  return expandScopes([row.role === "ci-readonly" ? "read" : "write"]);
}

async function fromSession(services: ResolveServices, token: string): Promise<Principal> {
  const sessionId = readSession(token, services.config.SESSION_SECRET);
  if (!sessionId) throw refused("The session token's signature is wrong; sign in again.");
  const row = await services.credentials.get(`session:${sessionId}`, () => findSession(services.db, sessionId));
  if (!row) throw refused("The session is not known; sign in again.");
  return fromPerson(services, row, "session");
}

async function fromJwt(services: ResolveServices, token: string): Promise<Principal> {
  const { config, clock } = services;
  const jti = await readJwt(token, config.BASE_URL, config.JWT_SECRET, clock.now());
  if (!jti || !isUuid(jti)) throw refused("The JWT is expired or was not signed here.");
  const row = await services.credentials.get(`jwt:${jti}`, () => findJwt(services.db, jti));
  if (!row) throw refused("The JWT is not known.");
  return fromPerson(services, row, "jwt");
}

function fromPerson(services: ResolveServices, row: SessionRow, kind: "session" | "jwt"): Principal {
  refuseUnusable(services, row, kind === "jwt" ? "JWT" : "session");
  return principalOf(row, {
    scopes: ALL_SCOPES,
    permissions: ROLE_PERMISSIONS[row.superAdmin ? "admin" : "maintainer"],
    via: { kind, id: row.id },
    rateLimitOverride: null,
    superAdmin: row.superAdmin,
  });
}

interface Powers {
  scopes: ReadonlySet<ApiScope>;
  permissions: readonly Permission[];
  via: Principal["via"];
  rateLimitOverride: Principal["rateLimitOverride"];
  superAdmin: boolean;
}

function principalOf(row: SessionRow, powers: Powers): Principal {
  return {
    user: { id: row.userId, uid: row.uid, name: row.userName, superAdmin: powers.superAdmin },
    organization: { id: row.organizationId, slug: row.organizationSlug },
    scopes: powers.scopes,
    permissions: powers.permissions,
    via: powers.via,
    rateLimitOverride: powers.rateLimitOverride,
  };
}

function refuseUnusable(services: ResolveServices, row: SessionRow, what: string): void {
  if (row.revokedAt !== null) throw refused(`The ${what} was revoked.`);
  if (row.expiresAt !== null && row.expiresAt <= services.clock.now().getTime())
    throw refused(`The ${what} has expired.`);
  if (row.disabledAt !== null) throw refused("The account is disabled.");
}

function refused(message: string): PlatformError {
  return new PlatformError("invalid_credentials", message);
}
