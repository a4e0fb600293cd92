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
  if (company.domain === null) return 0;
  const now = ctx.clock.now().toISOString();
  const { count } = await tx.sql`
    UPDATE people SET company_id = ${company.id}, updated_at = ${now}::timestamptz, score_due_at = ${now}::timestamptz
    FROM (SELECT p.id FROM people p WHERE p.organization_id = ${company.organizationId}
      AND p.domain = ${company.domain} AND p.company_id IS NULL ORDER BY p.id FOR NO KEY UPDATE) AS unlinked
    WHERE people.organization_id = ${company.organizationId} AND people.id = unlinked.id`;
  if (count > 0) await enqueue(tx, "crm.refresh_scores", {});
  return count;
}
