import { type CrmWebhookRecord, PlatformError } from "@quayside/contracts";
import { type Database, webhookEndpoints } from "@quayside/db";
import { and, eq } from "drizzle-orm";

type EndpointRow = typeof webhookEndpoints.$inferSelect;

export function toCrmWebhookRecord(row: EndpointRow): CrmWebhookRecord {
  return {
    id: row.id,
    name: row.name,
    url: row.url,
    events: row.events,
    status: row.status,
    createdAt: row.createdAt.toISOString(),
    lastDelivery: null,
  };
}

/** Which row is meant: the organization's own, of the CRM. */
export function crmEndpoint(organizationId: string, id: string) {
  return and(
    eq(webhookEndpoints.id, id),
    eq(webhookEndpoints.organizationId, organizationId),
    eq(webhookEndpoints.area, "crm"),
  );
}

export async function findCrmEndpoint(db: Database, organizationId: string, id: string): Promise<EndpointRow> {
  const [row] = await db.orm.select().from(webhookEndpoints).where(crmEndpoint(organizationId, id));
  if (!row) throw noWebhook(id);
  return row;
}

export function noWebhook(id: string): PlatformError {
  return new PlatformError("not_found", `No webhook has the id ${id}.`);
}
