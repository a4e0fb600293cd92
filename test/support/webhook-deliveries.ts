import { randomUUID } from "node:crypto";
import { expect } from "vitest";
import { type Owner, signUpOwner } from "./organizations.ts";
import type { TestQuayside } from "./quayside.ts";
import type { connectTo } from "./sql.ts";
import { until } from "./until.ts";

type Sql = ReturnType<typeof connectTo>;

export interface DeliveryRow {
  id: string;
  eventId: string;
  status: string;
  attempts: number;
  maxAttempts: number;
  nextAttemptAt: string | null;
}

export interface AttemptRow {
  attempt: number;
  statusCode: number | null;
  durationMs: number | null;
  errorClass: string | null;
  error: string | null;
  responseBody: string | null;
  truncated: boolean;
  address: string | null;
  timings: Record<string, number | null> | null;
}

/** An organization with subscriptions to its CRM events, whose people are made to have events to tell of. */
export interface Subscriber extends Owner {
  subscribe(url: string, events?: string[]): Promise<string>;
  secretOf(webhookId: string): Promise<string>;
  /** As many `person.created` events, in one transaction. */
  emit(events?: number): Promise<void>;
  /** Over tRPC, which can change what REST cannot. */
  change(webhookId: string, fields: object): Promise<void>;
  remove(webhookId: string): Promise<void>;
}

type Caller = Pick<TestQuayside, "call">;

export async function signUpSubscriber(quayside: TestQuayside, name: string): Promise<Subscriber> {
  return subscriberOf(quayside, await signUpOwner(quayside, name));
}

export function subscriberOf(quayside: Caller, owner: Owner): Subscriber {
  const { token } = owner;
  const call = async (method: string, path: string, body?: object) => {
    const reply = await quayside.call(method, path, { token, ...(body ? { body } : {}) });
    expect(reply.status, reply.text).toBeLessThan(300);
    return reply.body;
  };
  return {
    ...owner,
    async subscribe(url, events = ["person.created"]) {
      return (await call("POST", "/v1/crm/webhooks", { name: "Receiver", url, events })).id;
    },
    secretOf: async (id) => (await call("GET", `/v1/crm/webhooks/${id}`)).secret,
    async emit(events = 1) {
      const operations = Array.from({ length: events }, () => ({ op: "upsert", data: { id: randomUUID() } }));
      await call("POST", "/v1/crm/people/bulk", { operations });
    },
    async change(id, fields) {
      await call("POST", "/trpc/crm.webhooks.update", { id, ...fields });
    },
    async remove(id) {
      await call("DELETE", `/v1/crm/webhooks/${id}`);
    },
  };
}

/** Of one endpoint, oldest first. */
export function deliveriesOf(sql: Sql, endpointId: string): Promise<DeliveryRow[]> {
  return sql<DeliveryRow[]>`
    SELECT id, event_id AS "eventId", status, attempts, max_attempts AS "maxAttempts",
      next_attempt_at::text AS "nextAttemptAt"
    FROM webhook_deliveries WHERE endpoint_id = ${endpointId} ORDER BY created_at, id`;
}

export function attemptsOf(sql: Sql, deliveryId: string): Promise<AttemptRow[]> {
  return sql<AttemptRow[]>`
    SELECT attempt, status_code AS "statusCode", duration_ms AS "durationMs", error_class AS "errorClass", error,
      response_body AS "responseBody", truncated, address, timings
    FROM webhook_attempts WHERE delivery_id = ${deliveryId} ORDER BY attempt`;
}

/** Waits until so many deliveries of an endpoint are in a status, and gives them. */
export function untilDeliveries(
  sql: Sql,
  endpointId: string,
  status: string,
  count = 1,
  timeoutMs?: number,
): Promise<DeliveryRow[]> {
  return until(
    `${count} deliveries are ${status}`,
    async () => {
      const rows = (await deliveriesOf(sql, endpointId)).filter((row) => row.status === status);
      return rows.length >= count && rows;
    },
    timeoutMs,
  );
}

/** Runs the job that finds what was forgotten, which is otherwise run every minute. */
export async function sweep(sql: Sql): Promise<void> {
  await sql`SELECT graphile_worker.add_job('webhooks.sweep', payload := '{}'::json)`;
}

/** Ends the leases of all deliveries under way, as if time had gone by, and sweeps. */
export async function endLeases(sql: Sql): Promise<void> {
  await sql`UPDATE webhook_deliveries SET next_attempt_at = now() WHERE status = 'pending' AND next_attempt_at > now()`;
  await sweep(sql);
}

/**
 * Events with a delivery of each for an endpoint, written in one statement because there are many; the endpoint is
 * woken. Each event's `data` holds its number.
 */
export async function fillOutbox(sql: Sql, endpointId: string, count: number): Promise<void> {
  await sql`
    WITH endpoint AS (SELECT id, organization_id FROM webhook_endpoints WHERE id = ${endpointId}), events AS (
      INSERT INTO webhook_events (id, organization_id, area, type, data, occurred_at)
      SELECT gen_random_uuid(), endpoint.organization_id, 'crm', 'person.created', jsonb_build_object('number', n), now()
      FROM endpoint, generate_series(1, ${count}::int) AS n RETURNING id, organization_id, type
    ), deliveries AS (
      INSERT INTO webhook_deliveries (id, organization_id, endpoint_id, event_id, type, status, max_attempts,
        next_attempt_at, created_at)
      SELECT gen_random_uuid(), organization_id, ${endpointId}, id, type, 'pending', 4, now(), now() FROM events
    )
    SELECT graphile_worker.add_job('webhooks.deliver', payload := json_build_object('endpointId', id)) FROM endpoint`;
}
