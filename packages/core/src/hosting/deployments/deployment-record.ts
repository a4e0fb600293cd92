import type { DeploymentRecord, PlatformConfig } from "@quayside/contracts";
import type { deployments } from "@quayside/db";
import { appUrl } from "../projects/app-url.ts";

export type DeploymentRow = typeof deployments.$inferSelect;

export function toDeploymentRecord(
  row: DeploymentRow,
  hostName: string | null,
  config: PlatformConfig,
): DeploymentRecord {
  return {
    id: row.id,
    projectId: row.projectId,
    status: row.status,
    branch: row.branch,
    commitSha: row.commitSha,
    resolvedBuildConfig: row.resolvedBuildConfig,
    error: row.error,
    url: hostName === null ? null : appUrl(hostName, config),
    createdAt: row.createdAt.toISOString(),
    startedAt: row.startedAt?.toISOString() ?? null,
    finishedAt: row.finishedAt?.toISOString() ?? null,
  };
}
