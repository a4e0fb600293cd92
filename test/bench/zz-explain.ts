import { Bench } from "./support/bench.ts";
import { withWebhooks } from "./support/webhooks.ts";
const bench = new Bench();
try {
  await withWebhooks(bench, async (w) => {
    const id = await w.subscribe();
    await w.fill(id, 40000);
    const claim = () => w.sql`EXPLAIN (ANALYZE, BUFFERS, WAL, COSTS OFF) WITH due AS (
      SELECT d.ctid FROM webhook_deliveries d
      WHERE d.endpoint_id = ${id} AND d.status = 'pending' AND d.next_attempt_at <= now()
        AND EXISTS (SELECT 1 FROM webhook_endpoints w WHERE w.id = d.endpoint_id AND w.status = 'enabled')
      ORDER BY d.priority, d.next_attempt_at LIMIT 500 FOR UPDATE SKIP LOCKED
    ), claimed AS (
      UPDATE webhook_deliveries d SET attempts = d.attempts + 1, next_attempt_at = now() + interval '30s',
        max_attempts = d.max_attempts + CASE WHEN d.attempts > 0 AND EXISTS (
          SELECT 1 FROM webhook_attempts a
          WHERE a.delivery_id = d.id AND a.attempt = d.attempts AND a.duration_ms IS NULL) THEN 1 ELSE 0 END
      WHERE d.ctid = ANY (ARRAY (SELECT ctid FROM due))
      RETURNING d.id, d.attempts, d.max_attempts, d.event_id, d.organization_id, old.priority, old.next_attempt_at AS due_at
    ), attempted AS (
      INSERT INTO webhook_attempts (delivery_id, attempt, at)
      SELECT id, attempts, now() FROM claimed
    )
    SELECT c.id, c.attempts AS attempt, c.max_attempts AS "maxAttempts", e.id AS "eventId", e.type, e.data::text AS data,
      (extract(epoch FROM e.occurred_at) * 1000)::float8 AS "occurredAt", c.organization_id AS "organizationId"
    FROM claimed c CROSS JOIN LATERAL (SELECT * FROM webhook_events WHERE id = c.event_id OFFSET 0) AS e
    ORDER BY c.priority, c.due_at, e.id`;
    for (let i = 0; i < 6; i++) { const r = await claim(); if (i === 5) console.log(r.map(x => x["QUERY PLAN"]).join("\n")); else console.log(r.at(-1)!["QUERY PLAN"]); }
    const record = async () => {
      const rows = await w.sql`select d.id, d.attempts from webhook_deliveries d where status='pending' and attempts=1 limit 100`;
      const results = rows.map(r => ({ deliveryId: r.id, attempt: 1, outcome: "delivered", nextAttemptAt: null, statusCode: 204, durationMs: 2, errorClass: null, error: null, responseBody: "", truncated: false, address: "127.0.0.1", timings: {dnsMs: null, connectMs: null, tlsMs: null, firstByteMs: 1} })).sort((a,b)=>a.deliveryId<b.deliveryId?-1:1);
      return w.sql`EXPLAIN (ANALYZE, BUFFERS, WAL, COSTS OFF) WITH results AS MATERIALIZED (
      SELECT * FROM jsonb_to_recordset(${JSON.stringify(results)}::text::jsonb) AS r ("deliveryId" uuid, attempt int,
        outcome text, "nextAttemptAt" timestamptz, "statusCode" int, "durationMs" float8, "errorClass" text, error text,
        "responseBody" text, truncated boolean, address text, timings jsonb)
    ), attempts AS (
      UPDATE webhook_attempts a SET status_code = r."statusCode", duration_ms = round(r."durationMs"),
        error_class = r."errorClass", error = r.error, response_body = r."responseBody", truncated = r.truncated,
        address = r.address, timings = r.timings
      FROM results r WHERE a.delivery_id = r."deliveryId" AND a.attempt = r.attempt AND a.delivery_id = ANY (${results.map(x=>x.deliveryId)}::uuid[])
    )
    UPDATE webhook_deliveries d SET
      status = CASE r.outcome WHEN 'retry' THEN 'pending' ELSE r.outcome END,
      next_attempt_at = r."nextAttemptAt",
      finished_at = CASE r.outcome WHEN 'retry' THEN NULL ELSE now() END
    FROM results r WHERE d.id = r."deliveryId" AND d.status = 'pending' AND d.attempts = r.attempt
    RETURNING EXISTS (SELECT 1 FROM webhook_endpoints WHERE id = ${id} AND failing_since IS NOT NULL) AS failing`; };
    for (let i = 0; i < 6; i++) { const r = await record(); if (i === 5) console.log(r.map(x => x["QUERY PLAN"]).join("\n")); else console.log(r.at(-1)!["QUERY PLAN"]); }
  });
} finally { await bench.close(); }
