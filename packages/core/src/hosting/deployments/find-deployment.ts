import { PlatformError } from "@quayside/contracts";
import { appDomains, type Database, deployments } from "@quayside/db";
import { and, eq, min } from "drizzle-orm";
import type { DeploymentRow } from "./deployment-record.ts";

/** A deployment of the organization. Throws `not_found` that names the id. */
export async function findDeployment(db: Database, organizationId: string, id: string): Promise<DeploymentRow> {
  const [row] = await db.orm
    .select()
    .from(deployments)
    .where(and(eq(deployments.id, id), eq(deployments.organizationId, organizationId)));
  if (!row) throw new PlatformError("not_found", `Deployment ${id} not found.`);
  return row;
}

export async function findHostName(db: Database, appId: string): Promise<string | null> {
  const [row] = await db.orm
    .select({ hostName: min(appDomains.hostName) })
    .from(appDomains)
    .where(eq(appDomains.appId, appId));
  return row?.hostName ?? null;
}
