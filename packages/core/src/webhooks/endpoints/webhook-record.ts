import type { WebhookRecord } from "@quayside/contracts";
import type { EndpointRow } from "./find-endpoint.ts";

/** An endpoint of the organization as callers see it, without its secret. */
export function toWebhookRecord(row: EndpointRow): WebhookRecord {
  return {
    id: row.id,
    url: row.url,
    events: row.events,
    enabled: row.status === "enabled",
    disabledReason: row.disabledReason,
    createdAt: row.createdAt.toISOString(),
    updatedAt: row.updatedAt.toISOString(),
  };
}

/** The host that is called, by which an organization's endpoint is named. */
export function hostOf(url: string): string {
  return new URL(url).host;
}
