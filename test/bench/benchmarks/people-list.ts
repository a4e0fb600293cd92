import postgres from "postgres";
import type { Benchmark } from "../support/bench.ts";
import type { Figure } from "../support/figures.ts";
import { fillPeople } from "../support/many-people.ts";
import { count, type Histogram, median, percentile } from "../support/statistics.ts";

const PEOPLE = 1_000_000;
const PAGES = 1_000;
const EDGE = 50;
const LIMIT_MS = 30;

const QUERIES: Readonly<Record<string, string>> = {
  "no filter": "",
  "sort=-score": "sort=-score",
  "sort=name": "sort=name",
  "sort=updatedAt": "sort=updatedAt",
  "tag of 33 %": "filter[tag]=common",
  "tag of 1 %": "filter[tag]=middling",
  "rare tag, by name": "filter[tag]=rare&sort=name",
  "score over 90": "filter[score][gt]=90",
  "score 40 to 60, by name": "filter[score][gt]=40&filter[score][lt]=60&sort=name",
  "one of 500 cities": "filter[attributes][city]=City 77",
  "text in the name": "q=lovelacex",
  "one company": "filter[company_id]=",
};

/** Pages of 20 from a million people by every kind of filter, walked to page 1,000 or to their end. */
export const peopleList: Benchmark = {
  name: "people-list",
  limitMs: 400_000,
  async measure(bench) {
    const installation = await bench.shared();
    const { key, quayside } = await installation.connect();
    const { organization } = await quayside.api.identity.sessions.whoami.query();
    quayside.close();
    const sql = postgres(await installation.databaseUrl(), { max: 1, onnotice: () => {} });
    try {
      await fillPeople(sql, organization.id, PEOPLE);
      const [company] = await sql<{ id: string }[]>`SELECT company_id AS id FROM people LIMIT 1`;
      const figures: Figure[] = [];
      for (const [name, query] of Object.entries(QUERIES)) {
        const full = query.endsWith("=") ? query + (company?.id ?? "") : query;
        figures.push(await walk(`${installation.baseUrl}/v1/crm/people?${encodeURI(full)}`, key, name));
      }
      return figures;
    } finally {
      await sql.end();
    }
  },
};

async function walk(url: string, key: string, name: string): Promise<Figure> {
  const histogram: Histogram = {};
  const times: number[] = [];
  let cursor: string | null = "";
  while (cursor !== null && times.length < PAGES) {
    const startedAt = performance.now();
    const more = cursor === "" ? "" : `&cursor=${cursor}`;
    const reply = await fetch(url + more, { headers: { authorization: `Bearer ${key}` } });
    const page = (await reply.json()) as { next_cursor: string | null };
    if (reply.status !== 200) throw new Error(`${name}: status ${reply.status} ${JSON.stringify(page)}`);
    const ms = performance.now() - startedAt;
    times.push(ms);
    count(histogram, ms);
    cursor = page.next_cursor;
  }
  const [first, last] = [median(times.slice(0, EDGE)), median(times.slice(-EDGE))];
  return {
    figure: `people, ${name}, p99 of ${times.length} pages`,
    value: percentile(histogram, 0.99),
    unit: "ms",
    target: { rule: "at most", value: LIMIT_MS },
    note: `median of the first ${Math.min(EDGE, times.length)} ${first.toFixed(1)} ms, of the last ${last.toFixed(1)} ms`,
  };
}
