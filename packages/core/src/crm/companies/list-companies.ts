import type { CompanyRecord, ListCompaniesInput } from "@quayside/contracts";
import { requireCaller } from "../../platform/authorize.ts";
import type { Context } from "../../platform/context.ts";
import { pageNewestFirst } from "../newest-first.ts";
import { COMPANY_COLUMNS, type CompanyRow, countPeople, toCompanyRecord } from "./company-record.ts";

/** `companies_text_idx` is on this expression. */
const TEXT = "lower(name || ' ' || coalesce(domain, ''))";

/**
 * The organization's companies, newest first, 1 to 200 a page; `q` is a part of name or domain. Errors:
 * `invalid_cursor` (422).
 */
export async function listCompanies(
  ctx: Context,
  input: ListCompaniesInput,
): Promise<{ data: CompanyRecord[]; next_cursor: string | null }> {
  const { organization } = requireCaller(ctx, "read");
  const { rows, nextCursor } = await pageNewestFirst<CompanyRow>(ctx, {
    ...input,
    organizationId: organization.id,
    table: "companies",
    columns: COMPANY_COLUMNS,
    text: TEXT,
  });
  const people = await countPeople(
    ctx.db,
    organization.id,
    rows.map(({ id }) => id),
  );
  return { data: rows.map((row) => toCompanyRecord(row, people.get(row.id) ?? 0)), next_cursor: nextCursor };
}
