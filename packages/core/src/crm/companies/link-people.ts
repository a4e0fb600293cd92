import type { Database } from "@quayside/db";
import type { Context } from "../../platform/context.ts";
import { enqueue } from "../../platform/jobs.ts";

/**
 * Links the people of a company's domain who have no company, and has them scored anew. The company's row is this
 * transaction's already, so it comes before its people as everywhere. Returns how many were linked.
 */
export async function linkPeople(
  tx: Database,
  ctx: Context,
  company: { organizationId: string; id: string; domain: string | null },
): Promise<number> {
  const { organizationId, id, domain } = company;
  if (domain === null) return 0;
  const ids = await lockPeopleWhere(tx, "domain = $2 AND company_id IS NULL", [organizationId, domain]);
  return changeCompany(tx, ctx, { organizationId, ids, companyId: id });
}

/** Takes the people of a company out of it, and has them scored anew. Returns how many there were. */
export async function unlinkPeople(
  tx: Database,
  ctx: Context,
  company: { organizationId: string; id: string },
): Promise<number> {
  const { organizationId, id } = company;
  const ids = await lockPeopleWhere(tx, "company_id = $2::uuid", [organizationId, id]);
  return changeCompany(tx, ctx, { organizationId, ids, companyId: null });
}

/** Not prepared: a plan from when the table was small would read all people each time. `condition` is a constant. */
async function lockPeopleWhere(tx: Database, condition: string, values: string[]): Promise<string[]> {
  const text = `SELECT id FROM people WHERE organization_id = $1::uuid AND ${condition} ORDER BY id FOR NO KEY UPDATE`;
  const rows = await tx.sql.unsafe<{ id: string }[]>(text, values);
  return rows.map(({ id }) => id);
}

async function changeCompany(
  tx: Database,
  ctx: Context,
  change: { organizationId: string; ids: string[]; companyId: string | null },
): Promise<number> {
  if (change.ids.length === 0) return 0;
  const now = ctx.clock.now().toISOString();
  await tx.sql.unsafe(
    `UPDATE people SET company_id = $1::uuid, updated_at = $2::timestamptz, score_due_at = $2::timestamptz
    WHERE organization_id = $3::uuid AND id = ANY($4::uuid[])`,
    [change.companyId, now, change.organizationId, change.ids],
  );
  await enqueue(tx, "crm.refresh_scores", {});
  return change.ids.length;
}
