import { randomUUID } from "node:crypto";
import postgres from "postgres";
import type { Bench } from "./bench.ts";
import type { Client, Installation } from "./installation.ts";
import { type BenchReceiver, startReceiver } from "./webhook-receiver.ts";

/** An organization with webhooks on the shared installation, and a receiver in a process of its own. */
export interface WebhookBench {
  installation: Installation;
  client: Client;
  organizationId: string;
  sql: postgres.Sql;
  receiver: BenchReceiver;
  /** A webhook for all events of people; its id. */
  subscribe(url?: string): Promise<string>;
  /** As many events with a delivery of each, by SQL; `wake` has them sent. */
  fill(endpointId: string, count: number): Promise<void>;
  wake(endpointId: string): Promise<void>;
  /** Makes people, and with them events, at a rate, whether or not earlier requests are answered. */
  makePeople(perSecond: number, count: number): Promise<void>;
}

export async function withWebhooks<T>(bench: Bench, measure: (webhooks: WebhookBench) => Promise<T>): Promise<T> {
  const installation = await bench.shared();
  const client = await installation.connect();
  const { organization } = await client.quayside.api.identity.sessions.whoami.query();
  const sql = postgres(await installation.databaseUrl(), { max: 2, onnotice: () => {} });
  const receiver = await startReceiver();
  const post = (path: string, body: object) => postJson(installation.baseUrl + path, client.key, body);
  try {
    return await measure({
      installation,
      client,
      organizationId: organization.id,
      sql,
      receiver,
      async subscribe(url = receiver.url) {
        const body = { name: "bench", url, events: ["person.created"] };
        return ((await post("/v1/crm/webhooks", body)) as { id: string }).id;
      },
      fill: (endpointId, count) => fillOutbox(sql, endpointId, count),
      async wake(endpointId) {
        await sql`SELECT graphile_worker.add_job('webhooks.deliver',
          payload := json_build_object('endpointId', ${endpointId}::text))`;
      },
      makePeople: (perSecond, count) => {
        return atRate(perSecond, count, async (number) => {
          const fields = { name: `Person ${number}`, email: `p${number}-${randomUUID()}@bench.example` };
          await post(`/v1/crm/people/${randomUUID()}/upsert`, fields);
        });
      },
    });
  } finally {
    client.quayside.close();
    // Other benchmarks make people too, and their events would go on being delivered.
    await sql`DELETE FROM webhook_endpoints WHERE organization_id = ${organization.id}`;
    await sql.end();
    await receiver.stop();
  }
}

async function postJson(url: string, key: string, body: object): Promise<unknown> {
  const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
  const reply = await fetch(url, { method: "POST", headers, body: JSON.stringify(body) });
  if (!reply.ok) throw new Error(`${url} answered ${reply.status}: ${await reply.text()}`);
  return reply.json();
}

const TICK_MS = 5;

async function atRate(perSecond: number, count: number, work: (number: number) => Promise<void>): Promise<void> {
  const underWay: Promise<void>[] = [];
  const startedAt = performance.now();
  while (underWay.length < count) {
    const due = Math.min(count, ((performance.now() - startedAt) * perSecond) / 1_000);
    while (underWay.length < due) underWay.push(work(underWay.length));
    await new Promise((resolve) => setTimeout(resolve, TICK_MS));
  }
  await Promise.all(underWay);
}

async function fillOutbox(sql: postgres.Sql, endpointId: string, count: number): Promise<void> {
  await sql`
    WITH endpoint AS (SELECT organization_id, area FROM webhook_endpoints WHERE id = ${endpointId}), events AS (
      INSERT INTO webhook_events (id, organization_id, area, type, data, occurred_at)
      SELECT gen_random_uuid(), endpoint.organization_id, endpoint.area, 'person.created', jsonb_build_object('person',
        jsonb_build_object('id', gen_random_uuid(), 'name', 'Person ' || n, 'email', 'p' || n || '@bench.example',
          'tags', jsonb_build_array('bench'), 'attributes', '{"city": "Bergen"}'::jsonb)), now()
      FROM endpoint, generate_series(1, ${count}::int) AS n RETURNING id, organization_id, type
    )
    INSERT INTO webhook_deliveries (id, organization_id, endpoint_id, event_id, type, status, max_attempts,
      next_attempt_at, created_at)
    SELECT gen_random_uuid(), organization_id, ${endpointId}, id, type, 'pending', 4, now(), now() FROM events`;
  await sql.unsafe("ANALYZE webhook_deliveries");
}
