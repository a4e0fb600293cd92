import type { CrmWebhookRecord } from "@quayside/contracts";
import { webhookEndpoints } from "@quayside/db";
import { and, desc, eq } from "drizzle-orm";
import { requireCaller } from "../../platform/authorize.ts";
import type { Context } from "../../platform/context.ts";
import { toCrmWebhookRecord } from "./endpoint-record.ts";

/** The organization's subscriptions to CRM events, newest first, at most 100. Secrets are not among it. */
export async function listCrmWebhooks(ctx: Context): Promise<CrmWebhookRecord[]> {
  const { organization } = requireCaller(ctx, "read");
  const rows = await ctx.db.orm
    .select()
    .from(webhookEndpoints)
    .where(and(eq(webhookEndpoints.organizationId, organization.id), eq(webhookEndpoints.area, "crm")))
    .orderBy(desc(webhookEndpoints.createdAt), desc(webhookEndpoints.id));
  return rows.map(toCrmWebhookRecord);
}
