import type { WebhookRecord } from "@quayside/contracts";
import { webhookEndpoints } from "@quayside/db";
import { desc } from "drizzle-orm";
import { requireCaller } from "../../platform/authorize.ts";
import type { Context } from "../../platform/context.ts";
import { endpointsOf } from "./find-endpoint.ts";
import { toWebhookRecord } from "./webhook-record.ts";

/** The organization's endpoints, newest first, at most 100. Secrets and those of the CRM are not among it. */
export async function listWebhooks(ctx: Context): Promise<WebhookRecord[]> {
  const { organization } = requireCaller(ctx, "read");
  const rows = await ctx.db.orm
    .select()
    .from(webhookEndpoints)
    .where(endpointsOf(organization.id, "organization"))
    .orderBy(desc(webhookEndpoints.createdAt), desc(webhookEndpoints.id));
  return rows.map(toWebhookRecord);
}
