import { PlatformError } from "@quayside/contracts";
import { organizations, withTransaction } from "@quayside/db";
import { eq } from "drizzle-orm";
import { recordAudit } from "../../platform/audit.ts";
import { requireSuperAdmin } from "../../platform/authorize.ts";
import type { Context } from "../../platform/context.ts";

/** Lets an organization's apps run on the host `local` without a sandbox, or takes that back. Errors: `not_found`. */
export async function trustOrganization(
  ctx: Context,
  input: { id: string; trusted: boolean },
): Promise<typeof organizations.$inferSelect> {
  requireSuperAdmin(ctx);
  return withTransaction(ctx.db, async (tx) => {
    const [row] = await tx.orm
      .update(organizations)
      .set({ trusted: input.trusted })
      .where(eq(organizations.id, input.id))
      .returning();
    if (!row) throw new PlatformError("not_found", `No organization has the id ${input.id}.`);
    const action = input.trusted ? "organization.trusted" : "organization.untrusted";
    await recordAudit(tx, ctx, { action, target: `organization:${row.slug}` });
    return row;
  });
}
