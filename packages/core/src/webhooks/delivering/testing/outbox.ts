import { randomUUID } from "node:crypto";
import { asUser } from "../../../../../../test/support/actors.ts";
import { openTestServices, type TestServices } from "../../../../../../test/support/services.ts";
import type { Context } from "../../../platform/context.ts";
import { generateEndpointSecret, sealEndpointSecret } from "../../endpoint-secrets.ts";
import type { SendOutcome } from "../../sending/send-progress.ts";
import { type ClaimedDelivery, claimDeliveries } from "../claim-deliveries.ts";
import type { AttemptResult } from "../record-attempts.ts";

export const LEASE_MS = 30_000;

interface StoredDelivery {
  id: string;
  status: string;
  attempts: number;
  maxAttempts: number;
  /** Unix milliseconds. */
  nextAttemptAt: number | null;
}

interface StoredAttempt {
  deliveryId: string;
  attempt: number;
  statusCode: number | null;
  durationMs: number | null;
}

/** The tables of deliveries of one organization, on a database of its own, with a clock that stands still. */
export interface Outbox {
  tests: TestServices;
  system: Context;
  organizationId: string;
  endpoint(url?: string): Promise<string>;
  /** Events with a delivery each, due at the clock's time and so many milliseconds; ids of the deliveries. */
  fill(endpointId: string, count?: number, options?: { priority?: number; inMs?: number }): Promise<string[]>;
  claim(endpointId: string, limit?: number): Promise<ClaimedDelivery[]>;
  deliveries(endpointId: string): Promise<StoredDelivery[]>;
  attempts(endpointId: string): Promise<StoredAttempt[]>;
  nowMs(): number;
}

export async function openOutbox(env: Record<string, string> = {}): Promise<Outbox> {
  const tests = await openTestServices({ env });
  const { system, services, clock } = tests;
  const { sql } = services.db;
  const { principal } = await asUser(tests, "owner");
  const organizationId = principal?.organization.id ?? "";
  const nowMs = () => clock.now().getTime();
  return {
    tests,
    system,
    organizationId,
    nowMs,
    async endpoint(url = "http://127.0.0.1:9/hook") {
      const id = randomUUID();
      await sql`
        INSERT INTO webhook_endpoints (id, organization_id, area, name, url, events, secret, status)
        VALUES (${id}, ${organizationId}, 'crm', 'hook', ${url}, ARRAY['*'],
          ${sealEndpointSecret(system, id, generateEndpointSecret())}, 'enabled')`;
      return id;
    },
    async fill(endpointId, count = 1, { priority = 0, inMs = 0 } = {}) {
      const ids = Array.from({ length: count }, () => randomUUID());
      const at = new Date(nowMs() + inMs).toISOString();
      await sql`
        WITH given AS (SELECT id, gen_random_uuid() AS event_id FROM unnest(${ids}::uuid[]) AS id), events AS (
          INSERT INTO webhook_events (id, organization_id, area, type, data, occurred_at)
          SELECT event_id, ${organizationId}, 'crm', 'person.created', '{"b": 1, "a": "ü"}', ${at}::timestamptz FROM given
        )
        INSERT INTO webhook_deliveries (id, organization_id, endpoint_id, event_id, type, status, max_attempts,
          next_attempt_at, priority, created_at)
        SELECT id, ${organizationId}, ${endpointId}, event_id, 'person.created', 'pending', 4, ${at}::timestamptz,
          ${priority}, ${at}::timestamptz FROM given`;
      return ids;
    },
    claim: (endpointId, limit = 100) => claimDeliveries(system, endpointId, limit, LEASE_MS),
    deliveries: (endpointId) => sql<StoredDelivery[]>`
      SELECT id, status, attempts, max_attempts AS "maxAttempts",
        (extract(epoch FROM next_attempt_at) * 1000)::float8 AS "nextAttemptAt"
      FROM webhook_deliveries WHERE endpoint_id = ${endpointId} ORDER BY created_at, id`,
    attempts: (endpointId) => sql<StoredAttempt[]>`
      SELECT a.delivery_id AS "deliveryId", a.attempt, a.status_code AS "statusCode", a.duration_ms AS "durationMs"
      FROM webhook_attempts a JOIN webhook_deliveries d ON d.id = a.delivery_id
      WHERE d.endpoint_id = ${endpointId} ORDER BY a.delivery_id, a.attempt`,
  };
}

/** How a request ended, as the sender tells it. */
export function outcomeOf(fields: Partial<SendOutcome> = {}): SendOutcome {
  return {
    statusCode: 200,
    error: null,
    durationMs: 3,
    timings: { dnsMs: 0, connectMs: 1, tlsMs: null, firstByteMs: 1 },
    address: "127.0.0.1",
    responseBody: "ok",
    truncated: false,
    retryAfterMs: null,
    ...fields,
  };
}

export function resultOf(
  delivery: Pick<ClaimedDelivery, "id" | "attempt">,
  fields: Partial<AttemptResult> = {},
): AttemptResult {
  const { statusCode, durationMs, responseBody, truncated, address, timings } = outcomeOf();
  const outcome = { outcome: "delivered" as const, nextAttemptAt: null, errorClass: null, error: null };
  const ended = { ...outcome, statusCode, durationMs, responseBody, truncated, address, timings };
  return { deliveryId: delivery.id, attempt: delivery.attempt, ...ended, ...fields };
}
