import type { ListDeliveriesInput, ReadWebhookOutput } from "@quayside/contracts";
import { requireCaller } from "../../platform/authorize.ts";
import type { Context } from "../../platform/context.ts";
import { pageDeliveries } from "./delivery-pages.ts";
import { findEndpoint } from "./find-endpoint.ts";
import { toWebhookRecord } from "./webhook-record.ts";

/** An endpoint with a page of its deliveries, newest first. Errors: `not_found`, `invalid_cursor`. */
export async function readWebhook(ctx: Context, input: ListDeliveriesInput): Promise<ReadWebhookOutput> {
  const { organization } = requireCaller(ctx, "read");
  const row = await findEndpoint(ctx.db, organization.id, "organization", input.id);
  return { ...toWebhookRecord(row), ...(await pageDeliveries(ctx, organization.id, input)) };
}
