import type { Database } from "@quayside/db";
import type { Context } from "../../platform/context.ts";

/** Tells readers that an organization's deliveries have changed. */
export const activityChannel = (organizationId: string) => `webhook-activity:${organizationId}`;

/**
 * Writes down how deliveries stand now, for who follows them. Belongs after each change of their status or attempts, in
 * the transaction of the change. It takes no lock, and costs one look at an almost empty table while nobody follows.
 * Those of the CRM are left out.
 */
export async function recordActivity(tx: Database, ctx: Context, deliveryIds: readonly string[]): Promise<void> {
  if (deliveryIds.length === 0) return;
  const now = ctx.clock.now().toISOString();
  await tx.sql`
    WITH written AS (
      INSERT INTO webhook_activity (organization_id, endpoint_id, delivery_id, event_id, type, status, attempt,
        status_code, at)
      SELECT d.organization_id, d.endpoint_id, d.id, d.event_id, d.type, d.status, d.attempts, a.status_code,
        ${now}::timestamptz
      FROM webhook_deliveries d
      JOIN webhook_endpoints w ON w.id = d.endpoint_id AND w.area = 'organization'
      JOIN webhook_watches o ON o.organization_id = d.organization_id AND o.until > ${now}::timestamptz
      LEFT JOIN webhook_attempts a ON a.delivery_id = d.id AND a.attempt = d.attempts
      WHERE (SELECT EXISTS (SELECT 1 FROM webhook_watches WHERE until > ${now}::timestamptz))
        AND d.id = ANY (${deliveryIds as string[]}::uuid[])
      RETURNING organization_id
    )
    SELECT pg_notify('webhook-activity:' || organization_id, '') FROM written GROUP BY organization_id`;
}
