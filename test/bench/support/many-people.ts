import type postgres from "postgres";

/** What the people are made of: shares of one in so many, so that filters are rare, middling and common. */
const TAGS = ["common", "middling", "rare", "a", "b", "c", "d", "e"];

/**
 * Fills an organization with people and companies by SQL: names, tags, scores and dates are spread by a hash of the
 * number, the same each time. Indexes are made anew afterwards, which is several times faster.
 */
export async function fillPeople(sql: postgres.Sql, organizationId: string, count: number): Promise<void> {
  const indexes = await sql<{ name: string; definition: string }[]>`
    SELECT indexname AS name, indexdef AS definition FROM pg_indexes
    WHERE tablename = 'people' AND indexname NOT LIKE '%_pkey'`;
  for (const { name } of indexes) await sql.unsafe(`DROP INDEX ${name}`);
  await sql`
    INSERT INTO companies (id, organization_id, name, domain)
    SELECT md5('company' || n)::uuid, ${organizationId}, 'Company ' || n, 'company' || n || '.example'
    FROM generate_series(0, ${Math.ceil(count / 50)}::int) AS n`;
  await sql.unsafe("SET maintenance_work_mem = '512MB'");
  await sql`
    INSERT INTO people (id, organization_id, company_id, email, domain, name, tags, attributes, score, created_at, updated_at)
    SELECT md5('person' || n)::uuid, ${organizationId}, md5('company' || n / 50)::uuid,
      first || '.' || last || n || '@company' || n / 50 || '.example', 'company' || n / 50 || '.example',
      initcap(first || ' ' || last),
      array_remove(ARRAY[CASE WHEN h % 3 = 0 THEN 'common' END, CASE WHEN h % 100 = 1 THEN 'middling' END,
        CASE WHEN h % 50000 = 2 THEN 'rare' END, (${TAGS}::text[])[4 + h % 5]], NULL),
      jsonb_build_object('city', 'City ' || h % 500, 'title', 'Engineer'), h % 101,
      timestamptz '2026-01-01' + n * interval '7 seconds', timestamptz '2026-01-01' + (h % 9000000) * interval '1 second'
    FROM (
      SELECT n, abs(hashint4(n)) AS h,
        (ARRAY['ada','grace','alan','edsger','barbara','donald','john','margaret','niklaus','radia'])[1 + abs(hashint4(n + 1)) % 10] AS first,
        (ARRAY['lovelace','hopper','turing','dijkstra','liskov','knuth','backus','hamilton','wirth','perlman'])[1 + abs(hashint4(n + 2)) % 10]
          || chr(97 + abs(hashint4(n + 3)) % 26) || chr(97 + abs(hashint4(n + 4)) % 26) AS last
      FROM generate_series(1, ${count}::int) AS n
    ) AS numbered`;
  for (const { definition } of indexes) await sql.unsafe(definition);
  await sql.unsafe("VACUUM ANALYZE people");
}
