import type { WebhookArea } from "@quayside/contracts";
import { webhookDeliveries, webhookEvents, withTransaction } from "@quayside/db";
import { recordAudit } from "../../platform/audit.ts";
import { requireCaller } from "../../platform/authorize.ts";
import type { Context } from "../../platform/context.ts";
import { recordActivity } from "../activity/record-activity.ts";
import { MAX_ATTEMPTS } from "../delivering/retry-delay.ts";
import { wakeEndpoints } from "../delivering/wake-endpoints.ts";
import { endPause } from "./end-pause.ts";
import { auditAction, lockEndpoint, requireEnabled } from "./find-endpoint.ts";

const TYPE = "webhook.test";

/**
 * Sends an event `webhook.test` to this endpoint alone, whatever it listens to. Errors: `not_found`, `conflict` when it
 * is disabled.
 */
export async function sendTest(
  ctx: Context,
  area: WebhookArea,
  input: { id: string },
): Promise<{ deliveryId: string }> {
  const { organization } = requireCaller(ctx, "write");
  const now = ctx.clock.now();
  const [eventId, deliveryId] = [ctx.ids.uuid(), ctx.ids.uuid()];
  return withTransaction(ctx.db, async (tx) => {
    const endpoint = await lockEndpoint(tx, organization.id, area, input.id);
    requireEnabled(endpoint);
    await tx.orm.insert(webhookEvents).values({
      id: eventId,
      organizationId: organization.id,
      area,
      type: TYPE,
      data: { message: "This is a test. If its signature is right, everything is set up.", endpointId: endpoint.id },
      occurredAt: now,
    });
    await tx.orm.insert(webhookDeliveries).values({
      id: deliveryId,
      organizationId: organization.id,
      endpointId: endpoint.id,
      eventId,
      type: TYPE,
      status: "pending",
      maxAttempts: MAX_ATTEMPTS,
      nextAttemptAt: now,
      createdAt: now,
    });
    await recordActivity(tx, ctx, [deliveryId]);
    await recordAudit(tx, ctx, { action: auditAction(area, "tested"), target: `webhook:${endpoint.id}` });
    await endPause(tx, endpoint);
    await wakeEndpoints(tx, [endpoint.id]);
    return { deliveryId };
  });
}
