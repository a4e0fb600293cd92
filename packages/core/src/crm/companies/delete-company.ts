import { withTransaction } from "@quayside/db";
import { recordAudit } from "../../platform/audit.ts";
import { requireCaller } from "../../platform/authorize.ts";
import type { Context } from "../../platform/context.ts";
import { unlinkPeople } from "./link-people.ts";
import { noCompany } from "./read-company.ts";

/** Deletes a company; its people stay, without a company, and are scored anew by a job. Errors: `not_found`. */
export async function deleteCompany(ctx: Context, input: { id: string }): Promise<void> {
  const { organization } = requireCaller(ctx, "write");
  await withTransaction(ctx.db, async (tx) => {
    // The company before its people, as those do who link people to it.
    const [company] = await tx.sql`
      SELECT id FROM companies WHERE organization_id = ${organization.id} AND id = ${input.id} FOR UPDATE`;
    if (!company) throw noCompany(input.id);
    const unlinkedPeople = await unlinkPeople(tx, ctx, { organizationId: organization.id, id: input.id });
    await tx.sql`DELETE FROM companies WHERE organization_id = ${organization.id} AND id = ${input.id}`;
    const details = { unlinkedPeople };
    await recordAudit(tx, ctx, { action: "company.deleted", target: `company:${input.id}`, details });
  });
}
