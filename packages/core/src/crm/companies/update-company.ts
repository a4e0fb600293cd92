import type { CompanyRecord, UpdateCompanyInput } from "@quayside/contracts";
import { companies, type Database, withTransaction } from "@quayside/db";
import { and, eq } from "drizzle-orm";
import { recordAudit } from "../../platform/audit.ts";
import { requireCaller } from "../../platform/authorize.ts";
import type { Context } from "../../platform/context.ts";
import { mergeAttributes } from "../merge-attributes.ts";
import { explainTakenDomain, requireDomain } from "./company-domain.ts";
import { COMPANY_COLUMNS, type CompanyRow, countPeople, toCompanyRecord } from "./company-record.ts";
import { linkPeople } from "./link-people.ts";
import { noCompany } from "./read-company.ts";

/**
 * Changes the given fields; attributes are merged key by key, and null removes one. Who is linked stays linked, and
 * people of a new domain without a company are linked.
 * Errors: `not_found`, `conflict` for a domain in use, `validation_failed`.
 */
export async function updateCompany(ctx: Context, input: UpdateCompanyInput): Promise<CompanyRecord> {
  const { organization } = requireCaller(ctx, "write");
  const { id, name } = input;
  const domain = input.domain ? requireDomain(input.domain) : input.domain;
  try {
    return await withTransaction(ctx.db, async (tx) => {
      const row = await lockCompany(tx, organization.id, id);
      const now = ctx.clock.now();
      const changed = {
        name: name ?? row.name,
        domain: domain === undefined ? row.domain : domain,
        attributes: input.attributes ? mergeAttributes(row.attributes, input.attributes) : row.attributes,
      };
      await tx.orm
        .update(companies)
        .set({ ...changed, updatedAt: now })
        .where(and(eq(companies.organizationId, organization.id), eq(companies.id, id)));
      if (changed.domain !== row.domain) {
        await linkPeople(tx, ctx, { organizationId: organization.id, id, domain: changed.domain });
      }
      const fields = Object.keys(input).filter((field) => field !== "id");
      await recordAudit(tx, ctx, { action: "company.updated", target: `company:${id}`, details: { fields } });
      const people = await countPeople(tx, organization.id, [id]);
      return toCompanyRecord({ ...row, ...changed, updatedAt: now.getTime() }, people.get(id) ?? 0);
    });
  } catch (error) {
    throw explainTakenDomain(error, domain);
  }
}

async function lockCompany(tx: Database, organizationId: string, id: string): Promise<CompanyRow> {
  const [row] = await tx.sql<CompanyRow[]>`
    SELECT ${tx.sql.unsafe(COMPANY_COLUMNS)} FROM companies
    WHERE organization_id = ${organizationId} AND id = ${id} FOR NO KEY UPDATE`;
  if (!row) throw noCompany(id);
  return row;
}
