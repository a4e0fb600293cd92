import { PlatformError, type WebhookArea } from "@quayside/contracts";
import type { Database } from "@quayside/db";

const MAX_WEBHOOKS = 100;

/**
 * Throws `conflict` when the organization has 100 endpoints of the area. One creation at a time until the transaction
 * ends, so that the limit holds.
 */
export async function requireRoom(tx: Database, organizationId: string, area: WebhookArea): Promise<void> {
  await tx.sql`SELECT pg_advisory_xact_lock(hashtext(${`${area} webhooks`}), hashtext(${organizationId}))`;
  const [row] = await tx.sql<{ webhooks: number }[]>`
    SELECT count(*)::int AS webhooks FROM webhook_endpoints
    WHERE organization_id = ${organizationId} AND area = ${area} AND deleted_at IS NULL`;
  if ((row?.webhooks ?? 0) < MAX_WEBHOOKS) return;
  const kind = area === "crm" ? "CRM webhooks" : "webhooks";
  throw new PlatformError("conflict", `An organization may have at most ${MAX_WEBHOOKS} ${kind}; delete one first.`);
}
