import type { WebhookArea } from "@quayside/contracts";
import type { Database } from "@quayside/db";
import type { Context } from "../platform/context.ts";
import { recordActivity } from "./activity/record-activity.ts";
import { MAX_ATTEMPTS } from "./delivering/retry-delay.ts";
import { wakeEndpoints } from "./delivering/wake-endpoints.ts";

export interface WebhookEvent {
  type: string;
  data: Record<string, unknown>;
}

/**
 * The one way in which events are emitted: each event, a delivery of it for every enabled endpoint that listens to its
 * type, and the jobs that send them, all in the transaction of the change. Events that no endpoint listens to are left
 * out.
 */
export async function publishEvents(
  tx: Database,
  ctx: Context,
  source: { organizationId: string; area: WebhookArea },
  events: readonly WebhookEvent[],
): Promise<void> {
  if (events.length === 0) return;
  const wanted = await listenedTypes(tx, source);
  const rows = events
    .filter(({ type }) => wanted.has("*") || wanted.has(type))
    .map(({ type, data }) => ({ id: ctx.ids.uuid(), type, data }));
  if (rows.length === 0) return;
  const now = ctx.clock.now().toISOString();
  const deliveries = await tx.sql<{ id: string; endpointId: string }[]>`
    WITH events AS (
      INSERT INTO webhook_events (id, organization_id, area, type, data, occurred_at)
      SELECT e.id, ${source.organizationId}, ${source.area}, e.type, e.data, ${now}::timestamptz
      FROM jsonb_to_recordset(${JSON.stringify(rows)}::text::jsonb) AS e (id uuid, type text, data jsonb)
      RETURNING id, type
    ), deliveries AS (
      INSERT INTO webhook_deliveries (id, organization_id, endpoint_id, event_id, type, status, max_attempts,
        next_attempt_at, created_at)
      SELECT gen_random_uuid(), ${source.organizationId}, w.id, events.id, events.type, 'pending', ${MAX_ATTEMPTS},
        ${now}::timestamptz, ${now}::timestamptz
      FROM events JOIN webhook_endpoints w ON w.organization_id = ${source.organizationId} AND w.area = ${source.area}
        AND w.status = 'enabled' AND w.events && ARRAY['*', events.type]
      RETURNING id, endpoint_id
    )
    SELECT id, endpoint_id AS "endpointId" FROM deliveries`;
  if (source.area === "organization") {
    await recordActivity(
      tx,
      ctx,
      deliveries.map(({ id }) => id),
    );
  }
  await wakeEndpoints(tx, [...new Set(deliveries.map(({ endpointId }) => endpointId))]);
}

async function listenedTypes(
  tx: Database,
  source: { organizationId: string; area: WebhookArea },
): Promise<Set<string>> {
  const rows = await tx.sql<{ type: string }[]>`
    SELECT DISTINCT unnest(events) AS type FROM webhook_endpoints
    WHERE organization_id = ${source.organizationId} AND area = ${source.area} AND status = 'enabled'`;
  return new Set(rows.map(({ type }) => type));
}
