import type { CrmWebhookRecord, UpdateCrmWebhookInput } from "@quayside/contracts";
import { withTransaction } from "@quayside/db";
import { recordAudit } from "../../platform/audit.ts";
import { requireCaller } from "../../platform/authorize.ts";
import type { Context } from "../../platform/context.ts";
import { lastDeliveries } from "../endpoints/delivery-pages.ts";
import { statusChanges, storeChanges, urlChanges } from "../endpoints/endpoint-changes.ts";
import { lockEndpoint } from "../endpoints/find-endpoint.ts";
import { toCrmWebhookRecord } from "./endpoint-record.ts";

/**
 * Changes the given fields; `events` is replaced as a whole. Disabling cancels what waits; enabling begins anew.
 * Errors: `not_found`.
 */
export async function updateCrmWebhook(ctx: Context, input: UpdateCrmWebhookInput): Promise<CrmWebhookRecord> {
  const { organization } = requireCaller(ctx, "write");
  const { id, name, url, events, status } = input;
  return withTransaction(ctx.db, async (tx) => {
    const row = await lockEndpoint(tx, organization.id, "crm", id);
    const changed = await storeChanges(tx, ctx, row, {
      ...urlChanges(row, url),
      ...(name === undefined ? {} : { name }),
      ...(events === undefined ? {} : { events: [...new Set(events)] }),
      ...statusChanges(row, status),
    });
    const details = { fields: Object.keys(input).filter((field) => field !== "id") };
    await recordAudit(tx, ctx, { action: "crm_webhook.updated", target: `webhook:${id}`, details });
    return toCrmWebhookRecord(changed, (await lastDeliveries(tx, [id])).get(id));
  });
}
