import type { WebhookArea } from "@quayside/contracts";
import type { Database } from "@quayside/db";
import type { Context } from "../platform/context.ts";

export interface WebhookEvent {
  type: string;
  data: Record<string, unknown>;
}

/**
 * Writes events to the outbox in the transaction of the change; those that no enabled endpoint of the organization
 * listens to are left out.
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
  await tx.sql`
    INSERT INTO webhook_events (id, organization_id, area, type, data, occurred_at)
    SELECT e.id, ${source.organizationId}, ${source.area}, e.type, e.data, ${ctx.clock.now().toISOString()}::timestamptz
    FROM jsonb_to_recordset(${JSON.stringify(rows)}::text::jsonb) AS e (id uuid, type text, data jsonb)`;
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
