import postgres from "postgres";
import type { Benchmark } from "../support/bench.ts";
import type { Figure } from "../support/figures.ts";
import { median } from "../support/statistics.ts";

const ROWS = 1_000;
const ROUNDS = 12;
const TARGET = 3;

interface Row {
  id: string;
  email: string;
  name: string;
  tags: string[];
  attributes: Record<string, string>;
}

/** Bulk upserts over REST beside one multi-row `INSERT … ON CONFLICT` of the same rows into the same table. */
export const peopleBulk: Benchmark = {
  name: "people-bulk",
  async measure(bench) {
    const installation = await bench.shared();
    const { key, quayside } = await installation.connect();
    const { organization } = await quayside.api.identity.sessions.whoami.query();
    quayside.close();
    const sql = postgres(await installation.databaseUrl(), { max: 1, onnotice: () => {} });
    const ours = (rows: Row[]) => upsertOverRest(installation.baseUrl, key, rows);
    const bare = (rows: Row[]) => upsertBySql(sql, organization.id, rows);
    try {
      return [await compareUpserts("new people", ours, bare, 1), await compareUpserts("the same again", ours, bare, 2)];
    } finally {
      await sql.end();
    }
  },
};

type Upsert = (rows: Row[]) => Promise<void>;

/** Turn by turn, each with rows of its own; with `times` 2 the second upsert of each is the one that is measured. */
async function compareUpserts(what: string, ours: Upsert, bare: Upsert, times: 1 | 2): Promise<Figure> {
  const [oursMs, bareMs]: [number[], number[]] = [[], []];
  for (let round = 0; round < ROUNDS; round++) {
    for (const [name, upsert, results] of [
      ["ours", ours, oursMs],
      ["bare", bare, bareMs],
    ] as const) {
      const rows = makeRows(`${what}-${name}-${round}`.replaceAll(" ", "-"));
      if (times === 2) {
        await upsert(rows);
        for (const row of rows) row.attributes = { ...row.attributes, round: "second" };
      }
      const startedAt = performance.now();
      await upsert(rows);
      results.push(performance.now() - startedAt);
    }
  }
  const [value, baseline] = [median(oursMs.slice(2)), median(bareMs.slice(2))];
  return {
    figure: `bulk of ${ROWS.toLocaleString("en")} upserts, ${what}`,
    value,
    unit: "ms",
    baseline,
    ratio: value / baseline,
    target: { rule: "ratio at most", value: TARGET },
  };
}

function makeRows(batch: string): Row[] {
  return Array.from({ length: ROWS }, (_, index) => ({
    id: crypto.randomUUID(),
    email: `person${index}@${batch}.example`,
    name: `Person ${index} of ${batch}`,
    tags: ["bench", `t${index % 10}`],
    attributes: { city: `City ${index % 50}`, title: "Engineer" },
  }));
}

async function upsertOverRest(baseUrl: string, key: string, rows: Row[]): Promise<void> {
  const reply = await fetch(`${baseUrl}/v1/crm/people/bulk`, {
    method: "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
    body: JSON.stringify({ operations: rows.map((data) => ({ op: "upsert", data })) }),
  });
  const { succeeded } = (await reply.json()) as { succeeded: number };
  if (succeeded !== rows.length) throw new Error(`Only ${succeeded} of ${rows.length} upserts succeeded.`);
}

async function upsertBySql(sql: postgres.Sql, organizationId: string, rows: Row[]): Promise<void> {
  await sql`
    INSERT INTO people (organization_id, id, email, name, tags, attributes)
    SELECT ${organizationId}, id, email, name, string_to_array(tags, ','), attributes::jsonb
    FROM unnest(${rows.map(({ id }) => id)}::uuid[], ${rows.map(({ email }) => email)}::text[],
      ${rows.map(({ name }) => name)}::text[], ${rows.map(({ tags }) => tags.join(","))}::text[],
      ${rows.map(({ attributes }) => JSON.stringify(attributes))}::text[]) AS p (id, email, name, tags, attributes)
    ON CONFLICT (organization_id, id) DO UPDATE SET email = excluded.email, name = excluded.name,
      tags = excluded.tags, attributes = excluded.attributes, updated_at = now()`;
}
