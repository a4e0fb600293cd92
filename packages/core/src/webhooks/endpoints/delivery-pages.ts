import {
  type AttemptRecord,
  type AttemptTimings,
  type DeliveryPage,
  type DeliveryRecord,
  type DeliveryStatus,
  deliveryStatus,
  type ListDeliveriesInput,
} from "@quayside/contracts";
import type { Database } from "@quayside/db";
import type { Context } from "../../platform/context.ts";
import { openCursor, sealCursor } from "../../platform/cursors.ts";

/** A delivery that was sent again often shows the newest of its attempts. */
const MAX_ATTEMPTS_SHOWN = 20;
const ALL_STATUSES = deliveryStatus.options;
/** Later than every delivery. */
const FIRST_PAGE = { position: "infinity", id: "ffffffff-ffff-ffff-ffff-ffffffffffff" };

/** Times as Unix milliseconds. */
interface DeliveryRow {
  id: string;
  endpointId: string;
  eventId: string;
  type: string;
  status: DeliveryStatus;
  attempts: number;
  nextAttemptAt: number | null;
  createdAt: number;
  /** `created_at` with its microseconds, which a Date would lose. */
  position: string;
}

/** A page of an endpoint's deliveries, newest first. The caller has seen that the endpoint is the organization's. */
export async function pageDeliveries(
  ctx: Context,
  organizationId: string,
  input: ListDeliveriesInput,
): Promise<DeliveryPage> {
  const { id: endpointId, limit, status } = input;
  const query = { endpointId, status: status ?? null };
  const binding = { organizationId, list: "webhook deliveries", query };
  const [position = FIRST_PAGE.position, id = FIRST_PAGE.id] =
    input.cursor === undefined ? [] : openCursor(ctx, binding, input.cursor);
  const statuses = status === undefined ? ALL_STATUSES : [status];
  const rows = await selectNewest(ctx.db, [endpointId], statuses, { position, id }, limit + 1);
  const page = rows.slice(0, limit);
  const last = page.at(-1);
  const more = rows.length > limit && last !== undefined;
  return {
    deliveries: await withAttempts(ctx.db, page),
    deliveriesCursor: more ? sealCursor(ctx, binding, [last.position, last.id]) : null,
  };
}

/** The newest delivery of each endpoint that has one, by the endpoint's id. Two queries, however many endpoints. */
export async function lastDeliveries(
  db: Database,
  endpointIds: readonly string[],
): Promise<ReadonlyMap<string, DeliveryRecord>> {
  const rows = await selectNewest(db, endpointIds, ALL_STATUSES, FIRST_PAGE, 1);
  const newest = new Map<string, DeliveryRow>();
  for (const row of rows) if (!newest.has(row.endpointId)) newest.set(row.endpointId, row);
  const records = await withAttempts(db, [...newest.values()]);
  return new Map([...newest.keys()].map((endpointId, index) => [endpointId, records[index] as DeliveryRecord]));
}

/**
 * Of each endpoint and status at most `limit` deliveries before a position, all together newest first. Each pair is a
 * short walk along the index of the history, wherever in it the page is.
 */
async function selectNewest(
  db: Database,
  endpointIds: readonly string[],
  statuses: readonly DeliveryStatus[],
  before: { position: string; id: string },
  limit: number,
): Promise<DeliveryRow[]> {
  return db.sql<DeliveryRow[]>`
    SELECT d.id, d.endpoint_id AS "endpointId", d.event_id AS "eventId", d.type, d.status, d.attempts,
      (extract(epoch FROM d.next_attempt_at) * 1000)::float8 AS "nextAttemptAt",
      (extract(epoch FROM d.created_at) * 1000)::float8 AS "createdAt", d.created_at::text AS position
    FROM unnest(${endpointIds as string[]}::uuid[]) AS e (id)
    CROSS JOIN unnest(${statuses as string[]}::text[]) AS s (status)
    CROSS JOIN LATERAL (
      SELECT * FROM webhook_deliveries w
      WHERE w.endpoint_id = e.id AND w.status = s.status
        AND (w.created_at, w.id) < (${before.position}::timestamptz, ${before.id}::uuid)
      ORDER BY w.created_at DESC, w.id DESC LIMIT ${limit}) d
    ORDER BY d.created_at DESC, d.id DESC LIMIT ${endpointIds.length === 1 ? limit : null}`;
}

async function withAttempts(db: Database, rows: readonly DeliveryRow[]): Promise<DeliveryRecord[]> {
  const attempts = await attemptsOf(db, rows);
  return rows.map((row) => ({
    id: row.id,
    eventId: row.eventId,
    type: row.type,
    status: row.status,
    attempts: attempts.get(row.id) ?? [],
    nextAttemptAt: row.nextAttemptAt === null ? null : new Date(row.nextAttemptAt).toISOString(),
    createdAt: new Date(row.createdAt).toISOString(),
  }));
}

interface AttemptRow extends Omit<AttemptRecord, "at"> {
  deliveryId: string;
  at: number;
  timings: AttemptTimings | null;
}

async function attemptsOf(db: Database, rows: readonly DeliveryRow[]): Promise<Map<string, AttemptRecord[]>> {
  const byDelivery = new Map<string, AttemptRecord[]>();
  const attempted = rows.filter((row) => row.attempts > 0);
  if (attempted.length === 0) return byDelivery;
  const attempts = await db.sql<AttemptRow[]>`
    SELECT a.delivery_id AS "deliveryId", a.attempt, (extract(epoch FROM a.at) * 1000)::float8 AS at,
      a.status_code AS "statusCode", a.duration_ms AS "durationMs", a.error, a.error_class AS "errorClass",
      a.response_body AS "responseBody", a.truncated, a.address, a.timings
    FROM unnest(${attempted.map(({ id }) => id)}::uuid[], ${attempted.map((row) => row.attempts)}::int[])
      AS d (id, attempts)
    JOIN webhook_attempts a ON a.delivery_id = d.id AND a.attempt > d.attempts - ${MAX_ATTEMPTS_SHOWN}::int
    ORDER BY a.delivery_id, a.attempt`;
  for (const { deliveryId, ...attempt } of attempts) {
    const present = byDelivery.get(deliveryId) ?? [];
    present.push({ ...attempt, at: new Date(attempt.at).toISOString() });
    byDelivery.set(deliveryId, present);
  }
  return byDelivery;
}
