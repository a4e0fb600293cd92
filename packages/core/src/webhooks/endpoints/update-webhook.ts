import type { UpdateWebhookInput, WebhookRecord } from "@quayside/contracts";
import { withTransaction } from "@quayside/db";
import { recordAudit } from "../../platform/audit.ts";
import { requireCaller } from "../../platform/authorize.ts";
import type { Context } from "../../platform/context.ts";
import { openEndpointSecret, sealEndpointSecret } from "../endpoint-secrets.ts";
import { secretChanges, statusChanges, storeChanges, urlChanges } from "./endpoint-changes.ts";
import { auditAction, lockEndpoint } from "./find-endpoint.ts";
import { requireKnownEvents } from "./require-known-events.ts";
import { hostOf, toWebhookRecord } from "./webhook-record.ts";

const PREVIOUS_SECRET_HOURS = 24;

/**
 * Changes the given fields; `events` is replaced as a whole. With another `secret` the present one signs too for 24
 * hours. Disabling cancels what waits; enabling begins anew. Errors: `not_found`, `validation_failed` for an unknown
 * event.
 */
export async function updateWebhook(ctx: Context, input: UpdateWebhookInput): Promise<WebhookRecord> {
  const { organization } = requireCaller(ctx, "write");
  const { id, url, events, secret, enabled } = input;
  requireKnownEvents(events);
  const now = ctx.clock.now();
  return withTransaction(ctx.db, async (tx) => {
    const row = await lockEndpoint(tx, organization.id, "organization", id);
    const another = secret !== undefined && secret !== openEndpointSecret(ctx, id, row.secret);
    const changes = {
      ...urlChanges(row, url),
      ...(url === undefined ? {} : { name: hostOf(url) }),
      ...(events === undefined ? {} : { events: [...new Set(events)] }),
      ...(another ? secretChanges(row, sealEndpointSecret(ctx, id, secret), PREVIOUS_SECRET_HOURS, now) : {}),
      ...(enabled === undefined ? {} : statusChanges(row, enabled ? "enabled" : "disabled")),
    };
    const changed = await storeChanges(tx, ctx, row, changes);
    const fields = Object.keys(input).filter((name) => name !== "id");
    const details = { fields };
    await recordAudit(tx, ctx, { action: auditAction("organization", "updated"), target: `webhook:${id}`, details });
    return toWebhookRecord(changed);
  });
}
