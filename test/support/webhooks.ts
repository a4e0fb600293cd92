import { expect } from "vitest";
import type { Owner } from "./organizations.ts";
import type { TestQuayside } from "./quayside.ts";
import type { connectTo } from "./sql.ts";

export const WEBHOOKS = "/api/webhooks";
export const NO_SUCH_ID = "00000000-0000-4000-8000-000000000000";
export const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;
export const TIME = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/;

/** An endpoint of the organization, as its create answer says it. */
export async function createEndpoint(quayside: TestQuayside, token: string, fields: object = {}) {
  const body = { url: "https://hooks.example/in", events: ["*"], ...fields };
  const reply = await quayside.call("POST", WEBHOOKS, { token, body });
  expect(reply.status, reply.text).toBe(201);
  return reply.body as { id: string; secret: string };
}

export interface StoredDelivery {
  status?: string;
  type?: string;
  attempts?: number;
  at?: string;
}

/** Deliveries as a worker would have left them, each with its event and its attempts. Returns their ids in order. */
export async function storeDeliveries(
  sql: ReturnType<typeof connectTo>,
  owner: Pick<Owner, "organizationId">,
  endpointId: string,
  deliveries: readonly StoredDelivery[],
): Promise<string[]> {
  const ids: string[] = [];
  for (const { status = "delivered", type = "resource.created", attempts = 1, at } of deliveries) {
    const [id, eventId] = [crypto.randomUUID(), crypto.randomUUID()];
    const time = at ?? new Date().toISOString();
    const { organizationId } = owner;
    await sql`INSERT INTO webhook_events (id, organization_id, area, type, data, occurred_at)
      SELECT ${eventId}, ${organizationId}, area, ${type}, '{}', ${time}::text::timestamptz
      FROM webhook_endpoints WHERE id = ${endpointId}`;
    await sql`INSERT INTO webhook_deliveries (id, organization_id, endpoint_id, event_id, type, status, attempts,
        max_attempts, next_attempt_at, created_at)
      VALUES (${id}, ${organizationId}, ${endpointId}, ${eventId}, ${type}, ${status}, ${attempts}, 4,
        ${status === "pending" ? time : null}::text::timestamptz, ${time}::text::timestamptz)`;
    await sql`INSERT INTO webhook_attempts (delivery_id, attempt, at, status_code, duration_ms, error_class, error,
        response_body, address, timings)
      SELECT ${id}, a, ${time}::text::timestamptz, 500, 12, NULL, 'The receiver answered 500.', 'no', '192.0.2.1',
        '{"dnsMs":1,"connectMs":2,"tlsMs":3,"firstByteMs":4}' FROM generate_series(1, ${attempts}::int) a`;
    ids.push(id);
  }
  return ids;
}

export interface DeliveryRow {
  status: string;
  attempts: number;
  maxAttempts: number;
  priority: number;
  nextAttemptAt: Date | null;
  finishedAt: Date | null;
}

export async function readDelivery(sql: ReturnType<typeof connectTo>, id: string): Promise<DeliveryRow> {
  const [row] = await sql<DeliveryRow[]>`
    SELECT status, attempts, max_attempts AS "maxAttempts", priority, next_attempt_at AS "nextAttemptAt",
      finished_at AS "finishedAt" FROM webhook_deliveries WHERE id = ${id}`;
  if (!row) throw new Error(`There is no delivery ${id}.`);
  return row;
}

/** How many jobs wait that have a worker look after an endpoint. */
export async function wakeUps(sql: ReturnType<typeof connectTo>, endpointId: string): Promise<number> {
  const [row] = await sql<{ count: number }[]>`
    SELECT count(*)::int AS count FROM graphile_worker._private_jobs WHERE payload->>'endpointId' = ${endpointId}`;
  return row?.count ?? 0;
}
