import { PlatformError, type WebhookArea } from "@quayside/contracts";
import { type Database, webhookEndpoints } from "@quayside/db";
import { and, eq, isNull } from "drizzle-orm";

export type EndpointRow = typeof webhookEndpoints.$inferSelect;

/** The organization's endpoints of an area. */
export function endpointsOf(organizationId: string, area: WebhookArea) {
  return and(
    eq(webhookEndpoints.organizationId, organizationId),
    eq(webhookEndpoints.area, area),
    isNull(webhookEndpoints.deletedAt),
  );
}

function endpointOf(organizationId: string, area: WebhookArea, id: string) {
  return and(eq(webhookEndpoints.id, id), endpointsOf(organizationId, area));
}

/** Errors: `not_found`, also for another organization's or the other area's. */
export async function findEndpoint(
  db: Database,
  organizationId: string,
  area: WebhookArea,
  id: string,
): Promise<EndpointRow> {
  const [row] = await db.orm
    .select()
    .from(webhookEndpoints)
    .where(endpointOf(organizationId, area, id));
  if (!row) throw noWebhook(id);
  return row;
}

/** The same, held until the transaction ends, so that it is not disabled or changed meanwhile. */
export async function lockEndpoint(
  tx: Database,
  organizationId: string,
  area: WebhookArea,
  id: string,
): Promise<EndpointRow> {
  const where = endpointOf(organizationId, area, id);
  const [row] = await tx.orm.select().from(webhookEndpoints).where(where).for("no key update");
  if (!row) throw noWebhook(id);
  return row;
}

/** Throws `conflict` for an endpoint to which nothing is sent. */
export function requireEnabled(endpoint: Pick<EndpointRow, "status">): void {
  if (endpoint.status === "enabled") return;
  throw new PlatformError("conflict", "The webhook is disabled; enable it first.");
}

function noWebhook(id: string): PlatformError {
  return new PlatformError("not_found", `No webhook has the id ${id}.`);
}

/** The action's name in the audit log: `webhook.created`, `crm_webhook.created`. */
export function auditAction(area: WebhookArea, action: string): string {
  return area === "crm" ? `crm_webhook.${action}` : `webhook.${action}`;
}
