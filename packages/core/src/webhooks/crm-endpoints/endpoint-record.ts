import type { CrmWebhookRecord, DeliveryRecord } from "@quayside/contracts";
import type { EndpointRow } from "../endpoints/find-endpoint.ts";

export function toCrmWebhookRecord(row: EndpointRow, lastDelivery: DeliveryRecord | undefined): CrmWebhookRecord {
  return {
    id: row.id,
    name: row.name,
    url: row.url,
    events: row.events,
    status: row.status,
    createdAt: row.createdAt.toISOString(),
    lastDelivery: lastDelivery ?? null,
  };
}
