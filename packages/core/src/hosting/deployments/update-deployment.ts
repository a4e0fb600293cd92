import { type DeploymentRecord, PlatformError } from "@quayside/contracts";
import { deployments, withTransaction } from "@quayside/db";
import { and, eq } from "drizzle-orm";
import { recordAudit } from "../../platform/audit.ts";
import { requireCaller } from "../../platform/authorize.ts";
import { publish } from "../../platform/broker.ts";
import type { Context } from "../../platform/context.ts";
import { LOCAL_HOST_CHANNEL } from "../fleet/channels.ts";
import { toDeploymentRecord } from "./deployment-record.ts";
import { findHostName } from "./find-deployment.ts";
import { recordEvent } from "./record-event.ts";

/**
 * Stores whatever status is sent and announces it. `cancelled` also cancels the work: at once when it is queued,
 * between and inside steps when it runs. Errors: `not_found`.
 */
export async function updateDeployment(ctx: Context, input: { id: string; status: string }): Promise<DeploymentRecord> {
  const { organization } = requireCaller(ctx, "write");
  return withTransaction(ctx.db, async (tx) => {
    const mine = and(eq(deployments.id, input.id), eq(deployments.organizationId, organization.id));
    const [found] = await tx.orm.select().from(deployments).where(mine).for("update");
    if (!found) throw new PlatformError("not_found", `Deployment ${input.id} not found.`);
    const cancels = input.status === "cancelled";
    const now = ctx.clock.now();
    const [row] = await tx.orm
      .update(deployments)
      .set({
        status: input.status,
        ...(cancels && found.phase === "queued" ? { phase: "cancelled" as const, finishedAt: now } : {}),
        ...(cancels && (found.phase === "building" || found.phase === "deploying") ? { cancelRequestedAt: now } : {}),
      })
      .where(mine)
      .returning();
    if (!row) throw new Error("UPDATE deployments returned no row.");
    await recordEvent(tx, ctx, row.id, { status: input.status, message: `Status set to '${input.status}'.` });
    if (row.cancelRequestedAt) await publish(tx, LOCAL_HOST_CHANNEL, row.id);
    await recordAudit(tx, ctx, {
      action: "deployment.updated",
      target: `deployment:${row.id}`,
      details: { status: input.status },
    });
    return toDeploymentRecord(row, await findHostName(tx, row.appId), ctx.config);
  });
}
