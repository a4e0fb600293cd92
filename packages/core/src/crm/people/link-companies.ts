import type { Database } from "@quayside/db";
import type { Context } from "../../platform/context.ts";
import { publishEvents } from "../../webhooks/index.ts";

/**
 * Ids of the companies of these domains. Those that are not there yet are created, named after their domain. `locked`
 * are those that `lockCompanies` found.
 */
export async function companiesOfDomains(
  tx: Database,
  ctx: Context,
  organizationId: string,
  domains: readonly string[],
  locked: ReadonlyMap<string, string>,
): Promise<ReadonlyMap<string, string>> {
  const missing = domains.filter((domain) => !locked.has(domain)).sort();
  if (missing.length === 0) return locked;
  const now = ctx.clock.now().toISOString();
  const made = await tx.sql<{ id: string; domain: string }[]>`
    INSERT INTO companies (id, organization_id, name, domain, created_at, updated_at)
    SELECT id, ${organizationId}, domain, domain, ${now}::timestamptz, ${now}::timestamptz
    FROM unnest(${missing.map(() => ctx.ids.uuid())}::uuid[], ${missing}::text[]) AS company (id, domain)
    ORDER BY domain
    ON CONFLICT (organization_id, domain) WHERE domain IS NOT NULL DO NOTHING
    RETURNING id, domain`;
  const found = new Map([...locked, ...made.map(({ id, domain }) => [domain, id] as const)]);
  await publishEvents(
    tx,
    ctx,
    { organizationId, area: "crm" },
    made.map(({ id, domain }) => ({
      type: "company.created",
      data: {
        company: { id, name: domain, domain, attributes: {}, peopleCount: 0, createdAt: now, updatedAt: now },
      },
    })),
  );
  const taken = missing.filter((domain) => !found.has(domain));
  // Another transaction made these meanwhile; they are visible to a new statement only.
  const others = await lockCompanies(tx, organizationId, taken);
  return new Map([...found, ...others]);
}

/**
 * Ids of the companies of these domains that are there, by domain; none of them can be deleted until the transaction
 * ends. Whoever deletes a company locks it before its people, so this comes before people are locked.
 */
export async function lockCompanies(
  tx: Database,
  organizationId: string,
  domains: readonly string[],
): Promise<Map<string, string>> {
  if (domains.length === 0) return new Map();
  const rows = await tx.sql<{ id: string; domain: string }[]>`
    SELECT id, domain FROM companies
    WHERE organization_id = ${organizationId} AND domain = ANY(${domains as string[]}::text[])
    ORDER BY id FOR KEY SHARE`;
  return new Map(rows.map(({ id, domain }) => [domain, id]));
}
