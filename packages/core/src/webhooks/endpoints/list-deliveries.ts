import type { DeliveryPage, ListDeliveriesInput, WebhookArea } from "@quayside/contracts";
import { requireCaller } from "../../platform/authorize.ts";
import type { Context } from "../../platform/context.ts";
import { pageDeliveries } from "./delivery-pages.ts";
import { findEndpoint } from "./find-endpoint.ts";

/** A page of an endpoint's deliveries, newest first. Errors: `not_found`, `invalid_cursor`. */
export async function listDeliveries(
  ctx: Context,
  area: WebhookArea,
  input: ListDeliveriesInput,
): Promise<DeliveryPage> {
  const { organization } = requireCaller(ctx, "read");
  await findEndpoint(ctx.db, organization.id, area, input.id);
  return pageDeliveries(ctx, organization.id, input);
}
