import { withTransaction } from "@quayside/db";
import { recordAudit } from "../../platform/audit.ts";
import { requireCaller } from "../../platform/authorize.ts";
import type { Context } from "../../platform/context.ts";
import { enqueue } from "../../platform/jobs.ts";
import { noCompany } from "./read-company.ts";

/** Deletes a company; its people stay, without a company, and are scored anew by a job. Errors: `not_found`. */
export async function deleteCompany(ctx: Context, input: { id: string }): Promise<void> {
  const { organization } = requireCaller(ctx, "write");
  const now = ctx.clock.now().toISOString();
  await withTransaction(ctx.db, async (tx) => {
    // The company before its people, as those do who link people to it.
    const [company] = await tx.sql`
      SELECT id FROM companies WHERE organization_id = ${organization.id} AND id = ${input.id} FOR UPDATE`;
    if (!company) throw noCompany(input.id);
    const { count } = await tx.sql`
      UPDATE people SET company_id = NULL, updated_at = ${now}::timestamptz, score_due_at = ${now}::timestamptz
      FROM (SELECT p.id FROM people p WHERE p.organization_id = ${organization.id} AND p.company_id = ${input.id}
        ORDER BY p.id FOR NO KEY UPDATE) AS linked
      WHERE people.organization_id = ${organization.id} AND people.id = linked.id`;
    await tx.sql`DELETE FROM companies WHERE organization_id = ${organization.id} AND id = ${input.id}`;
    if (count > 0) await enqueue(tx, "crm.refresh_scores", {});
    const details = { unlinkedPeople: count };
    await recordAudit(tx, ctx, { action: "company.deleted", target: `company:${input.id}`, details });
  });
}
