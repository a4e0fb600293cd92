import type { Attributes, CompanyRecord } from "@quayside/contracts";
import type { Database } from "@quayside/db";

/** A company as it is selected; times as Unix milliseconds. */
export interface CompanyRow {
  id: string;
  name: string;
  domain: string | null;
  attributes: Attributes;
  createdAt: number;
  updatedAt: number;
}

export const COMPANY_COLUMNS = `id, name, domain, attributes,
  (extract(epoch FROM created_at) * 1000)::float8 AS "createdAt",
  (extract(epoch FROM updated_at) * 1000)::float8 AS "updatedAt"`;

export function toCompanyRecord(row: CompanyRow, peopleCount: number): CompanyRecord {
  return {
    id: row.id,
    name: row.name,
    domain: row.domain,
    attributes: row.attributes,
    peopleCount,
    createdAt: new Date(row.createdAt).toISOString(),
    updatedAt: new Date(row.updatedAt).toISOString(),
  };
}

/** How many people are linked to each of the companies; one without any is not in the map. */
export async function countPeople(
  db: Database,
  organizationId: string,
  companyIds: readonly string[],
): Promise<Map<string, number>> {
  if (companyIds.length === 0) return new Map();
  const rows = await db.sql<{ id: string; people: number }[]>`
    SELECT company_id AS id, count(*)::int AS people FROM people
    WHERE organization_id = ${organizationId} AND company_id = ANY(${companyIds as string[]}::uuid[])
    GROUP BY company_id`;
  return new Map(rows.map(({ id, people }) => [id, people]));
}
