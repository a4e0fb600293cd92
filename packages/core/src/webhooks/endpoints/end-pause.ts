import { type Database, webhookEndpoints } from "@quayside/db";
import { eq } from "drizzle-orm";
import type { EndpointRow } from "./find-endpoint.ts";

/** Who sends by hand wants to see what happens now. A receiver that still hangs is given another pause soon. */
export async function endPause(tx: Database, endpoint: EndpointRow): Promise<void> {
  if (endpoint.pausedUntil === null) return;
  await tx.orm.update(webhookEndpoints).set({ pausedUntil: null }).where(eq(webhookEndpoints.id, endpoint.id));
}
