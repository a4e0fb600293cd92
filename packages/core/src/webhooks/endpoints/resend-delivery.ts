import { PlatformError, type WebhookArea } from "@quayside/contracts";
import { type Database, withTransaction } from "@quayside/db";
import { recordAudit } from "../../platform/audit.ts";
import { requireCaller } from "../../platform/authorize.ts";
import type { Context } from "../../platform/context.ts";
import { recordActivity } from "../activity/record-activity.ts";
import { MAX_ATTEMPTS } from "../delivering/retry-delay.ts";
import { wakeEndpoints } from "../delivering/wake-endpoints.ts";
import { endPause } from "./end-pause.ts";
import { auditAction, lockEndpoint, requireEnabled } from "./find-endpoint.ts";

/**
 * Sends a delivery again that was delivered, has failed or was cancelled: the same one, with the same id and a first
 * attempt and retries of its own. Errors: `not_found`, also for another endpoint's; `conflict` while it is pending, or
 * when the endpoint is disabled.
 */
export async function resendDelivery(
  ctx: Context,
  area: WebhookArea,
  input: { id: string; deliveryId: string },
): Promise<{ deliveryId: string }> {
  const { organization } = requireCaller(ctx, "write");
  const { deliveryId } = input;
  const now = ctx.clock.now().toISOString();
  return withTransaction(ctx.db, async (tx) => {
    const endpoint = await lockEndpoint(tx, organization.id, area, input.id);
    await requireEnded(tx, endpoint.id, deliveryId);
    requireEnabled(endpoint);
    await tx.sql`
      UPDATE webhook_deliveries SET status = 'pending', next_attempt_at = ${now}::timestamptz,
        max_attempts = attempts + ${MAX_ATTEMPTS}, priority = 0, finished_at = NULL
      WHERE id = ${deliveryId}`;
    await recordActivity(tx, ctx, [deliveryId]);
    const details = { deliveryId };
    await recordAudit(tx, ctx, { action: auditAction(area, "resent"), target: `webhook:${endpoint.id}`, details });
    await endPause(tx, endpoint);
    await wakeEndpoints(tx, [endpoint.id]);
    return { deliveryId };
  });
}

async function requireEnded(tx: Database, endpointId: string, deliveryId: string): Promise<void> {
  const [delivery] = await tx.sql<{ status: string }[]>`
    SELECT status FROM webhook_deliveries WHERE id = ${deliveryId} AND endpoint_id = ${endpointId} FOR UPDATE`;
  if (!delivery) throw new PlatformError("not_found", `This webhook has no delivery with the id ${deliveryId}.`);
  if (delivery.status !== "pending") return;
  throw new PlatformError("conflict", "The delivery is on its way already; it can be sent again when that has ended.");
}
