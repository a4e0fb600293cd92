import type { CrmWebhookRecord } from "@quayside/contracts";
import { requireCaller } from "../../platform/authorize.ts";
import type { Context } from "../../platform/context.ts";
import { openEndpointSecret } from "../endpoint-secrets.ts";
import { findCrmEndpoint, toCrmWebhookRecord } from "./endpoint-record.ts";

/**
 * One subscription; with its signing secret when the caller has the scope `admin`. Errors: `not_found`, also for
 * another organization's.
 */
export async function readCrmWebhook(ctx: Context, input: { id: string }): Promise<CrmWebhookRecord> {
  const { organization, scopes } = requireCaller(ctx, "read");
  const row = await findCrmEndpoint(ctx.db, organization.id, input.id);
  const record = toCrmWebhookRecord(row);
  return scopes.has("admin") ? { ...record, secret: openEndpointSecret(ctx, row.id, row.secret) } : record;
}
