import { users, withTransaction } from "@quayside/db";
import { eq } from "drizzle-orm";
import { recordAudit } from "../../platform/audit.ts";
import { requireSystem } from "../../platform/authorize.ts";
import type { Context } from "../../platform/context.ts";
import { hashPassword } from "../passwords.ts";
import { insertUser } from "./create-user.ts";

export interface BootstrapAdmin {
  user: string | undefined;
  password: string | undefined;
  grantSuperAdmin: boolean;
}

export type BootstrapOutcome = "created" | "present" | "not-granted" | "not-asked";

/**
 * The first super admin, made at the first boot when user, password and grant are all set. A later boot leaves the
 * user untouched. (Only one of user and password stops the start before this is reached.)
 */
export async function bootstrapAdmin(ctx: Context, admin: BootstrapAdmin): Promise<BootstrapOutcome> {
  requireSystem(ctx);
  const { user: name, password } = admin;
  if (name === undefined || password === undefined) return "not-asked";
  if (!admin.grantSuperAdmin) return "not-granted";
  const [present] = await ctx.db.orm.select({ id: users.id }).from(users).where(eq(users.name, name));
  if (present) return "present";
  const passwordHash = await hashPassword(password);
  return withTransaction(ctx.db, async (tx) => {
    // Two processes may boot at once; the second waits here and then finds the user.
    await tx.sql`SELECT pg_advisory_xact_lock(hashtext('quayside bootstrap admin'))`;
    const [raced] = await tx.orm.select({ id: users.id }).from(users).where(eq(users.name, name));
    if (raced) return "present";
    await insertUser(tx, ctx, { name, passwordHash, superAdmin: true });
    await recordAudit(tx, ctx, { action: "user.created", actor: "system:bootstrap", target: `user:${name}` });
    return "created";
  });
}
