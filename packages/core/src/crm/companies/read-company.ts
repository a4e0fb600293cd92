import { type CompanyRecord, PlatformError } from "@quayside/contracts";
import { requireCaller } from "../../platform/authorize.ts";
import type { Context } from "../../platform/context.ts";
import { COMPANY_COLUMNS, type CompanyRow, countPeople, toCompanyRecord } from "./company-record.ts";

/** One company. Errors: `not_found`, also for another organization's. */
export async function readCompany(ctx: Context, input: { id: string }): Promise<CompanyRecord> {
  const { organization } = requireCaller(ctx, "read");
  const { sql } = ctx.db;
  const [row] = await sql<CompanyRow[]>`
    SELECT ${sql.unsafe(COMPANY_COLUMNS)} FROM companies
    WHERE organization_id = ${organization.id} AND id = ${input.id}`;
  if (!row) throw noCompany(input.id);
  const people = await countPeople(ctx.db, organization.id, [row.id]);
  return toCompanyRecord(row, people.get(row.id) ?? 0);
}

export function noCompany(id: string): PlatformError {
  return new PlatformError("not_found", `No company has the id ${id}.`);
}
