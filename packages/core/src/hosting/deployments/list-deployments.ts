import type { DeploymentRecord } from "@quayside/contracts";
import { appDomains, deployments } from "@quayside/db";
import { and, desc, eq, inArray, min } from "drizzle-orm";
import { requireCaller } from "../../platform/authorize.ts";
import type { Context } from "../../platform/context.ts";
import { toDeploymentRecord } from "./deployment-record.ts";

/** Newest first; of one project when given. An unknown project has none. */
export async function listDeployments(
  ctx: Context,
  input: { projectId?: string | undefined; limit: number },
): Promise<DeploymentRecord[]> {
  const { organization } = requireCaller(ctx, "read");
  const rows = await ctx.db.orm
    .select()
    .from(deployments)
    .where(
      and(
        eq(deployments.organizationId, organization.id),
        input.projectId === undefined ? undefined : eq(deployments.projectId, input.projectId),
      ),
    )
    .orderBy(desc(deployments.position))
    .limit(input.limit);
  const appIds = [...new Set(rows.map((row) => row.appId))];
  const domains =
    appIds.length === 0
      ? []
      : await ctx.db.orm
          .select({ appId: appDomains.appId, hostName: min(appDomains.hostName) })
          .from(appDomains)
          .where(inArray(appDomains.appId, appIds))
          .groupBy(appDomains.appId);
  const hostNames = new Map(domains.map((domain) => [domain.appId, domain.hostName]));
  return rows.map((row) => toDeploymentRecord(row, hostNames.get(row.appId) ?? null, ctx.config));
}
