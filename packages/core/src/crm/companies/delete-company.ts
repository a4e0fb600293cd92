import { withTransaction } from "@quayside/db";
import { recordAudit } from "../../platform/audit.ts";
import { requireCaller } from "../../platform/authorize.ts";
import type { Context } from "../../platform/context.ts";
import { noCompany } from "./read-company.ts";

/** Deletes a company; its people stay, without a company. Errors: `not_found`. */
export async function deleteCompany(ctx: Context, input: { id: string }): Promise<void> {
  const { organization } = requireCaller(ctx, "write");
  await withTransaction(ctx.db, async (tx) => {
    // Whoever links a person to it meanwhile waits, and then finds it gone.
    const [company] = await tx.sql`
      SELECT id FROM companies WHERE organization_id = ${organization.id} AND id = ${input.id} FOR UPDATE`;
    if (!company) throw noCompany(input.id);
    const { count } = await tx.sql`
      UPDATE people SET company_id = NULL, updated_at = ${ctx.clock.now().toISOString()}::timestamptz
      WHERE organization_id = ${organization.id} AND company_id = ${input.id}`;
    await tx.sql`DELETE FROM companies WHERE organization_id = ${organization.id} AND id = ${input.id}`;
    await recordAudit(tx, ctx, {
      action: "company.deleted",
      target: `company:${input.id}`,
      details: { unlinkedPeople: count },
    });
  });
}
