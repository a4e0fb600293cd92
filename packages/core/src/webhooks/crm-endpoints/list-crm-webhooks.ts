import type { CrmWebhookRecord } from "@quayside/contracts";
import { webhookEndpoints } from "@quayside/db";
import { desc } from "drizzle-orm";
import { requireCaller } from "../../platform/authorize.ts";
import type { Context } from "../../platform/context.ts";
import { lastDeliveries } from "../endpoints/delivery-pages.ts";
import { endpointsOf } from "../endpoints/find-endpoint.ts";
import { toCrmWebhookRecord } from "./endpoint-record.ts";

/**
 * The organization's subscriptions to CRM events, newest first, at most 100, each with its newest delivery. Secrets are not
 * among it.
 */
export async function listCrmWebhooks(ctx: Context): Promise<CrmWebhookRecord[]> {
  const { organization } = requireCaller(ctx, "read");
  const rows = await ctx.db.orm
    .select()
    .from(webhookEndpoints)
    .where(endpointsOf(organization.id, "crm"))
    .orderBy(desc(webhookEndpoints.createdAt), desc(webhookEndpoints.id));
  const newest = await lastDeliveries(
    ctx.db,
    rows.map(({ id }) => id),
  );
  return rows.map((row) => toCrmWebhookRecord(row, newest.get(row.id)));
}
