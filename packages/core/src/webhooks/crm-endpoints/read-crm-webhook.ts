import type { CrmWebhookRecord } from "@quayside/contracts";
import { requireCaller } from "../../platform/authorize.ts";
import type { Context } from "../../platform/context.ts";
import { openEndpointSecret } from "../endpoint-secrets.ts";
import { lastDeliveries } from "../endpoints/delivery-pages.ts";
import { findEndpoint } from "../endpoints/find-endpoint.ts";
import { toCrmWebhookRecord } from "./endpoint-record.ts";

/**
 * One subscription; with its signing secret when the caller has the scope `admin`. Errors: `not_found`, also for
 * another organization's.
 */
export async function readCrmWebhook(ctx: Context, input: { id: string }): Promise<CrmWebhookRecord> {
  const { organization, scopes } = requireCaller(ctx, "read");
  const row = await findEndpoint(ctx.db, organization.id, "crm", input.id);
  const record = toCrmWebhookRecord(row, (await lastDeliveries(ctx.db, [row.id])).get(row.id));
  return scopes.has("admin") ? { ...record, secret: openEndpointSecret(ctx, row.id, row.secret) } : record;
}
