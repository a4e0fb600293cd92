import type { CreateWebhookInput, CreateWebhookOutput } from "@quayside/contracts";
import { webhookEndpoints, withTransaction } from "@quayside/db";
import { recordAudit } from "../../platform/audit.ts";
import { requireCaller } from "../../platform/authorize.ts";
import type { Context } from "../../platform/context.ts";
import { generateEndpointSecret, sealEndpointSecret } from "../endpoint-secrets.ts";
import { auditAction } from "./find-endpoint.ts";
import { requireKnownEvents } from "./require-known-events.ts";
import { requireRoom } from "./require-room.ts";
import { hostOf, toWebhookRecord } from "./webhook-record.ts";

/**
 * Has a URL told of what happens in the organization. The signing secret, given or made here, is in this answer only.
 * Doubled events count once. Errors: `validation_failed` for an unknown event, `conflict` when the organization has 100
 * endpoints already.
 */
export async function createWebhook(ctx: Context, input: CreateWebhookInput): Promise<CreateWebhookOutput> {
  const { organization } = requireCaller(ctx, "write");
  requireKnownEvents(input.events);
  const id = ctx.ids.uuid();
  const now = ctx.clock.now();
  const secret = input.secret ?? generateEndpointSecret();
  return withTransaction(ctx.db, async (tx) => {
    await requireRoom(tx, organization.id, "organization");
    const [row] = await tx.orm
      .insert(webhookEndpoints)
      .values({
        id,
        organizationId: organization.id,
        area: "organization",
        name: hostOf(input.url),
        url: input.url,
        events: [...new Set(input.events)],
        secret: sealEndpointSecret(ctx, id, secret),
        status: "enabled",
        createdAt: now,
        updatedAt: now,
      })
      .returning();
    if (!row) throw new Error("The webhook that was just inserted is not there.");
    await recordAudit(tx, ctx, { action: auditAction("organization", "created"), target: `webhook:${id}` });
    return { ...toWebhookRecord(row), secret };
  });
}
