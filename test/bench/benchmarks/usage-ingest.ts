import { randomUUID } from "node:crypto";
import postgres from "postgres";
import type { Benchmark } from "../support/bench.ts";
import { GATEWAY_SECRET } from "../support/installation.ts";
import { median } from "../support/statistics.ts";

const KEYS = 1_000;
const HOURS = 10;
const ROUNDS = 16;
const WARM_UP = 4;
const TARGET = 2;
const HOUR_MS = 3_600_000;

interface Entry {
  apiKeyId: string;
  hour: string;
  requests: number;
  errors: number;
}

/** A gateway's report of 10,000 entries beside a bare upsert of as many rows; half of the rounds meet their rows again. */
export const usageIngest: Benchmark = {
  name: "usage-ingest",
  async measure(bench) {
    const installation = await bench.shared();
    const sql = postgres(await installation.databaseUrl(), { max: 1, onnotice: () => {} });
    try {
      const [ours, bare] = [await makeKeys(sql), await makeKeys(sql)];
      const [oursMs, bareMs]: [number[], number[]] = [[], []];
      for (let round = 0; round < ROUNDS; round++) {
        oursMs.push(await timed(() => report(installation.baseUrl, entriesOf(ours, round))));
        bareMs.push(await timed(() => upsert(sql, entriesOf(bare, round))));
      }
      const [value, baseline] = [median(oursMs.slice(WARM_UP)), median(bareMs.slice(WARM_UP))];
      return [
        {
          figure: "usage report of 10,000 entries",
          value,
          unit: "ms",
          baseline,
          ratio: value / baseline,
          target: { rule: "ratio at most", value: TARGET },
        },
      ];
    } finally {
      await sql.end();
    }
  },
};

async function timed(work: () => Promise<void>): Promise<number> {
  const startedAt = performance.now();
  await work();
  return performance.now() - startedAt;
}

async function makeKeys(sql: postgres.Sql): Promise<string[]> {
  const ids = Array.from({ length: KEYS }, () => randomUUID());
  await sql`
    INSERT INTO api_keys (id, user_id, name, environment, scopes, key_hash, prefix)
    SELECT id, (SELECT min(id) FROM users), 'bench', 'test', ARRAY['read'], sha256(id::text::bytea), 'qs_test_bench'
    FROM unnest(${ids}::uuid[]) AS id`;
  return ids;
}

function entriesOf(keys: readonly string[], round: number): Entry[] {
  const start = Math.floor(Date.now() / HOUR_MS) - HOURS * (1 + (round >> 1));
  return keys.flatMap((apiKeyId) =>
    Array.from({ length: HOURS }, (_, hour) => ({
      apiKeyId,
      hour: new Date((start + hour) * HOUR_MS).toISOString(),
      requests: 100 + hour,
      errors: hour,
    })),
  );
}

async function report(baseUrl: string, entries: readonly Entry[]): Promise<void> {
  const reply = await fetch(`${baseUrl}/v1/crm/internal/api-usage`, {
    method: "POST",
    headers: { authorization: `Bearer ${GATEWAY_SECRET}`, "content-type": "application/json" },
    body: JSON.stringify({ entries }),
  });
  const text = await reply.text();
  if (text !== JSON.stringify({ written: entries.length })) throw new Error(`The report was answered with ${text}.`);
}

async function upsert(sql: postgres.Sql, entries: readonly Entry[]): Promise<void> {
  await sql`
    INSERT INTO api_usage_hours AS u (api_key_id, hour, requests, errors)
    SELECT * FROM unnest(${entries.map(({ apiKeyId }) => apiKeyId)}::uuid[],
      ${entries.map(({ hour }) => hour)}::text[]::timestamptz[], ${entries.map(({ requests }) => requests)}::bigint[],
      ${entries.map(({ errors }) => errors)}::bigint[])
    ON CONFLICT (api_key_id, hour) DO UPDATE SET requests = u.requests + excluded.requests,
      errors = u.errors + excluded.errors`;
}
