import { apps, deployments, withTransaction } from "@quayside/db";
import { and, eq, gt } from "drizzle-orm";
import { requireSystem } from "../../platform/authorize.ts";
import type { Context } from "../../platform/context.ts";
import type { DeploymentRow } from "./deployment-record.ts";
import { recordEvent } from "./record-event.ts";

const FINISHED = new Set<string>(["deployed", "failed", "cancelled", "superseded"]);

/**
 * Takes a deployment for this worker and raises its fence: an earlier worker that is still alive can no longer write.
 * Null when there is nothing to do: it is finished, was cancelled, or a newer queued one supersedes it.
 */
export async function claimDeployment(ctx: Context, id: string): Promise<DeploymentRow | null> {
  requireSystem(ctx);
  return withTransaction(ctx.db, async (tx) => {
    const [row] = await tx.orm.select().from(deployments).where(eq(deployments.id, id)).for("update");
    if (!row || FINISHED.has(row.phase)) return null;
    const [app] = await tx.orm.select({ deletedAt: apps.deletedAt }).from(apps).where(eq(apps.id, row.appId));
    const finish = async (phase: "superseded" | "cancelled", message: string) => {
      const finishedAt = ctx.clock.now();
      await tx.orm.update(deployments).set({ phase, status: phase, finishedAt }).where(eq(deployments.id, id));
      await recordEvent(tx, ctx, id, { status: phase, message });
      return null;
    };
    if (row.cancelRequestedAt && row.phase === "queued") return finish("cancelled", "Cancelled before it began.");
    if (!app || app.deletedAt) return finish("cancelled", "Cancelled: the project was deleted.");
    if (row.phase === "queued") {
      const [newer] = await tx.orm
        .select({ id: deployments.id })
        .from(deployments)
        .where(
          and(
            eq(deployments.appId, row.appId),
            eq(deployments.phase, "queued"),
            gt(deployments.position, row.position),
          ),
        )
        .limit(1);
      if (newer) return finish("superseded", `Superseded by the newer deployment ${newer.id}.`);
    }
    const again = row.phase !== "queued";
    const [claimed] = await tx.orm
      .update(deployments)
      .set({
        phase: "building",
        status: "building",
        fence: row.fence + 1,
        startedAt: row.startedAt ?? ctx.clock.now(),
      })
      .where(eq(deployments.id, id))
      .returning();
    const message = again ? "Starting over: the worker that had this deployment was lost." : "Build started.";
    await recordEvent(tx, ctx, id, { status: "building", message });
    return claimed ?? null;
  });
}
