import { expandScopes, ROLE_PERMISSIONS } from "@quayside/contracts";
import { type Context, createUser } from "@quayside/core";
import type { TestServices } from "./services.ts";

/** A new user with a personal organization, as if signed in with a session. */
export async function asUser({ services, system }: TestServices, name: string): Promise<Context> {
  const user = await createUser(system, { name, password: "correct horse battery" });
  const [organization] = await services.db.sql<{ id: string; slug: string }[]>`
    SELECT id, slug FROM organizations WHERE personal_user_id = ${user.id}`;
  if (!organization) throw new Error(`User ${name} has no personal organization.`);
  return {
    ...system,
    override: null,
    principal: {
      user: { id: user.id, uid: user.uid, name: user.name, superAdmin: false },
      organization,
      scopes: expandScopes(["admin"]),
      permissions: ROLE_PERMISSIONS.maintainer,
      via: { kind: "session", id: services.ids.uuid() },
      rateLimitOverride: null,
    },
  };
}
