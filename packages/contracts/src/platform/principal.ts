import { z } from "zod";

/** What an API key may do. `admin` includes `write`, `write` includes `read`. */
export const apiScope = z.enum(["read", "write", "admin"]);
export type ApiScope = z.infer<typeof apiScope>;

/** Roles of registry tokens, from the weakest to the strongest. */
export const tokenRole = z.enum(["ci-readonly", "ci-publish", "maintainer", "admin"]);
export type TokenRole = z.infer<typeof tokenRole>;

export type Permission = "read" | "publish" | "unpublish" | "admin";

export const ROLE_PERMISSIONS: Readonly<Record<TokenRole, readonly Permission[]>> = {
  "ci-readonly": ["read"],
  "ci-publish": ["read", "publish"],
  maintainer: ["read", "publish", "unpublish"],
  admin: ["read", "publish", "unpublish", "admin"],
};

const INCLUDED_SCOPES: Readonly<Record<ApiScope, readonly ApiScope[]>> = {
  read: ["read"],
  write: ["write", "read"],
  admin: ["admin", "write", "read"],
};

/** All scopes that the given ones include, themselves among them. */
export function expandScopes(scopes: readonly ApiScope[]): ReadonlySet<ApiScope> {
  return new Set(scopes.flatMap((scope) => INCLUDED_SCOPES[scope]));
}

export type CredentialKind = "session" | "jwt" | "role_token" | "api_key";

/** Who is asking, whatever credential they came with. */
export interface Principal {
  user: { id: number; uid: string; name: string; superAdmin: boolean };
  organization: { id: string; slug: string };
  scopes: ReadonlySet<ApiScope>;
  permissions: readonly Permission[];
  via: { kind: CredentialKind; id: string };
  /** Requests a minute by scope, for API keys that carry their own. */
  rateLimitOverride: Readonly<Partial<Record<ApiScope, number>>> | null;
}
