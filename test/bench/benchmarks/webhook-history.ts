import type postgres from "postgres";
import type { Benchmark } from "../support/bench.ts";
import type { Figure } from "../support/figures.ts";
import { count, type Histogram, percentile } from "../support/statistics.ts";
import { type WebhookBench, withWebhooks } from "../support/webhooks.ts";

const STORED = 1_000_000;
const BATCH = 100_000;
const PAGES = 500;
const LIMIT_MS = 20;

const QUERIES: Readonly<Record<string, string>> = {
  "all, 50 a page": "",
  "failed ones, 50 a page": "status=failed",
  "all, 200 a page": "limit=200",
};

/** Pages of the history of one webhook with a million stored deliveries, each with its attempts. */
export const webhookHistory: Benchmark = {
  name: "webhook-history",
  limitMs: 400_000,
  measure: (bench) => withWebhooks(bench, measureHistory),
};

async function measureHistory({ installation, client, organizationId, sql }: WebhookBench): Promise<Figure[]> {
  const headers = { authorization: `Bearer ${client.key}`, "content-type": "application/json" };
  const path = `${installation.baseUrl}/api/webhooks`;
  const body = JSON.stringify({ url: "http://127.0.0.1:9/hook", events: ["*"] });
  const { id } = (await (await fetch(path, { method: "POST", headers, body })).json()) as { id: string };
  await storeHistory(sql, organizationId, id);
  const figures: Figure[] = [];
  for (const [name, query] of Object.entries(QUERIES)) {
    const histogram: Histogram = {};
    let cursor: string | null = null;
    for (let page = 0; page < PAGES; page++) {
      const url: string = `${path}/${id}?${query}${cursor === null ? "" : `&cursor=${cursor}`}`;
      const startedAt = performance.now();
      const reply = await fetch(url, { headers });
      const text = await reply.text();
      count(histogram, performance.now() - startedAt);
      if (!reply.ok) throw new Error(`${url} answered ${reply.status}: ${text}`);
      cursor = (JSON.parse(text) as { deliveriesCursor: string | null }).deliveriesCursor;
    }
    figures.push({
      figure: `history of a million deliveries, ${name}, p99`,
      value: percentile(histogram, 0.99),
      unit: "ms",
      target: { rule: "at most", value: LIMIT_MS },
      note: `${PAGES} pages; p50 ${percentile(histogram, 0.5)} ms`,
    });
  }
  return figures;
}

/** One in twenty has failed, after four attempts. */
async function storeHistory(sql: postgres.Sql, organizationId: string, endpointId: string): Promise<void> {
  for (let from = 0; from < STORED; from += BATCH) {
    await sql`
      WITH numbers AS (
        SELECT n, n % 20 = 0 AS failed, gen_random_uuid() AS id, gen_random_uuid() AS event_id,
          now() - n * interval '2 seconds' AS at
        FROM generate_series(${from}::int, ${from + BATCH - 1}::int) AS n
      ), events AS (
        INSERT INTO webhook_events (id, organization_id, area, type, data, occurred_at)
        SELECT event_id, ${organizationId}, 'organization', 'resource.updated', '{"resource": "app"}', at FROM numbers
      ), deliveries AS (
        INSERT INTO webhook_deliveries (id, organization_id, endpoint_id, event_id, type, status, attempts,
          max_attempts, created_at, finished_at)
        SELECT id, ${organizationId}, ${endpointId}, event_id, 'resource.updated',
          CASE WHEN failed THEN 'failed' ELSE 'delivered' END, CASE WHEN failed THEN 4 ELSE 1 END, 4, at, at FROM numbers
      )
      INSERT INTO webhook_attempts (delivery_id, attempt, at, status_code, duration_ms, error, response_body, address,
        timings)
      SELECT id, attempt, at, CASE WHEN failed THEN 500 ELSE 200 END, 12, CASE WHEN failed THEN 'The receiver answered 500.' END,
        repeat('thanks ', 20), '203.0.113.7', '{"dnsMs": 1, "connectMs": 2, "tlsMs": 3, "firstByteMs": 9}'
      FROM numbers CROSS JOIN LATERAL generate_series(1, CASE WHEN failed THEN 4 ELSE 1 END) AS attempt`;
  }
  await sql.unsafe("VACUUM ANALYZE webhook_events, webhook_deliveries, webhook_attempts");
}
