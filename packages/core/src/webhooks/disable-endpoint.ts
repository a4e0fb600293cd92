import type { Database } from "@quayside/db";
import { recordAudit } from "../platform/audit.ts";
import type { Context } from "../platform/context.ts";
import { recordActivity } from "./activity/record-activity.ts";
import { publishEvents } from "./publish-events.ts";

/**
 * Disables an endpoint, cancels what was waiting for it, and tells the organization's other endpoints. In the caller's
 * transaction; nothing happens when it is disabled already.
 */
export async function disableEndpoint(tx: Database, ctx: Context, endpointId: string, reason: string): Promise<void> {
  const now = ctx.clock.now().toISOString();
  const [endpoint] = await tx.sql<{ organizationId: string; area: "crm" | "organization"; url: string }[]>`
    UPDATE webhook_endpoints SET status = 'disabled', disabled_reason = ${reason}, updated_at = ${now}::timestamptz
    WHERE id = ${endpointId} AND status = 'enabled'
    RETURNING organization_id AS "organizationId", area, url`;
  if (!endpoint) return;
  await cancelPending(tx, ctx, endpointId);
  const { organizationId, area, url } = endpoint;
  await recordAudit(tx, ctx, { action: "webhook.disabled", target: `webhook:${endpointId}`, details: { reason } });
  const data = { endpointId, url, reason };
  await publishEvents(tx, ctx, { organizationId, area }, [{ type: "webhook.endpoint_disabled", data }]);
}

/** What still waits for an endpoint that gets no more. Attempts under way are recorded, and change nothing. */
export async function cancelPending(tx: Database, ctx: Context, endpointId: string): Promise<void> {
  const cancelled = await tx.sql<{ id: string }[]>`
    UPDATE webhook_deliveries SET status = 'cancelled', next_attempt_at = NULL,
      finished_at = ${ctx.clock.now().toISOString()}::timestamptz
    WHERE endpoint_id = ${endpointId} AND status = 'pending'
    RETURNING id`;
  await recordActivity(
    tx,
    ctx,
    cancelled.map(({ id }) => id),
  );
}
