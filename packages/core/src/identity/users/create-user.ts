import { PlatformError } from "@quayside/contracts";
import { type Database, memberships, organizations, users, withTransaction } from "@quayside/db";
import { recordAudit } from "../../platform/audit.ts";
import { requireSuperAdmin } from "../../platform/authorize.ts";
import type { Context } from "../../platform/context.ts";
import { isUniqueViolation } from "../../platform/database-errors.ts";
import { hashPassword } from "../passwords.ts";

export interface NewUser {
  name: string;
  password?: string | undefined;
  email?: string | undefined;
}

export type UserRow = typeof users.$inferSelect;

/** A new account with its personal organization. Errors: `user_exists` (409) for a name or email in use. */
export async function createUser(ctx: Context, input: NewUser): Promise<UserRow> {
  requireSuperAdmin(ctx);
  const passwordHash = input.password === undefined ? null : await hashPassword(input.password);
  try {
    return await withTransaction(ctx.db, async (tx) => {
      const user = await insertUser(tx, ctx, { ...input, passwordHash, superAdmin: false });
      await recordAudit(tx, ctx, { action: "user.created", target: `user:${user.name}` });
      return user;
    });
  } catch (error) {
    if (isUniqueViolation(error))
      throw new PlatformError("user_exists", "The name or email is in use by another user.");
    throw error;
  }
}

/** Inserts the user and the personal organization that every user has. Runs in the caller's transaction. */
export async function insertUser(
  tx: Database,
  ctx: Context,
  user: NewUser & { passwordHash: string | null; superAdmin: boolean },
): Promise<UserRow> {
  const [row] = await tx.orm
    .insert(users)
    .values({
      uid: ctx.ids.uuid(),
      name: user.name,
      email: user.email ?? null,
      passwordHash: user.passwordHash,
      superAdmin: user.superAdmin,
      createdAt: ctx.clock.now(),
    })
    .returning();
  if (!row) throw new Error("INSERT INTO users returned no row.");
  const organizationId = ctx.ids.uuid();
  await tx.orm.insert(organizations).values({
    id: organizationId,
    name: user.name,
    slug: await freeOrganizationSlug(tx, user.name),
    // A super admin could trust the own organization at any time, so it is trusted from the start.
    trusted: user.superAdmin,
    personalUserId: row.id,
    createdAt: ctx.clock.now(),
  });
  await tx.orm.insert(memberships).values({ organizationId, userId: row.id, role: "owner" });
  return row;
}

async function freeOrganizationSlug(tx: Database, name: string): Promise<string> {
  const slug = name.replace(/[^a-z0-9]+/g, "-").replace(/^-+|-+$/g, "") || "user";
  const [row] = await tx.sql<{ taken: string[] | null }[]>`
    SELECT array_agg(slug) AS taken FROM organizations WHERE slug = ${slug} OR slug LIKE ${`${slug}-%`}`;
  const taken = new Set(row?.taken ?? []);
  if (!taken.has(slug)) return slug;
  let number = 2;
  while (taken.has(`${slug}-${number}`)) number += 1;
  return `${slug}-${number}`;
}
