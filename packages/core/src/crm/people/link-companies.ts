import type { Database } from "@quayside/db";
import type { Context } from "../../platform/context.ts";
import { publishEvents } from "../../webhooks/index.ts";

/** Ids of the companies of these domains. Those that are not there yet are created, named after their domain. */
export async function companiesOfDomains(
  tx: Database,
  ctx: Context,
  organizationId: string,
  domains: readonly string[],
): Promise<Map<string, string>> {
  const found = await findCompanies(tx, organizationId, domains);
  const missing = domains.filter((domain) => !found.has(domain)).sort();
  if (missing.length === 0) return found;
  const now = ctx.clock.now().toISOString();
  const made = await tx.sql<{ id: string; domain: string }[]>`
    INSERT INTO companies (id, organization_id, name, domain, created_at, updated_at)
    SELECT id, ${organizationId}, domain, domain, ${now}::timestamptz, ${now}::timestamptz
    FROM unnest(${missing.map(() => ctx.ids.uuid())}::uuid[], ${missing}::text[]) AS company (id, domain)
    ORDER BY domain
    ON CONFLICT (organization_id, domain) WHERE domain IS NOT NULL DO NOTHING
    RETURNING id, domain`;
  for (const { id, domain } of made) found.set(domain, id);
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
  const others = await findCompanies(tx, organizationId, taken);
  return new Map([...found, ...others]);
}

async function findCompanies(
  tx: Database,
  organizationId: string,
  domains: readonly string[],
): Promise<Map<string, string>> {
  if (domains.length === 0) return new Map();
  const rows = await tx.sql<{ id: string; domain: string }[]>`
    SELECT id, domain FROM companies
    WHERE organization_id = ${organizationId} AND domain = ANY(${domains as string[]}::text[])`;
  return new Map(rows.map(({ id, domain }) => [domain, id]));
}
