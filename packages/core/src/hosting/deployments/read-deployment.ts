import type { DeploymentRecord } from "@quayside/contracts";
import { requireCaller } from "../../platform/authorize.ts";
import type { Context } from "../../platform/context.ts";
import { toDeploymentRecord } from "./deployment-record.ts";
import { findDeployment, findHostName } from "./find-deployment.ts";

/** Errors: `not_found`. */
export async function readDeployment(ctx: Context, input: { id: string }): Promise<DeploymentRecord> {
  const { organization } = requireCaller(ctx, "read");
  const row = await findDeployment(ctx.db, organization.id, input.id);
  return toDeploymentRecord(row, await findHostName(ctx.db, row.appId), ctx.config);
}
