import type { DeploymentPhase } from "@quayside/contracts";
import { type Database, deployments, withTransaction } from "@quayside/db";
import { and, eq } from "drizzle-orm";
import type { Context } from "../../platform/context.ts";
import type { DeploymentRow } from "./deployment-record.ts";
import { recordEvent } from "./record-event.ts";

/** Another worker took the deployment over; whoever catches this must touch nothing more. */
export class FenceLost extends Error {
  constructor(deploymentId: string) {
    super(`Another worker has taken over deployment ${deploymentId}.`);
    this.name = "FenceLost";
  }
}

export interface Advance {
  phase: DeploymentPhase;
  message: string;
  error?: string;
  /** Further changes of the same transaction, after the fence was checked. */
  alongside?: (tx: Database, row: DeploymentRow) => Promise<void>;
}

const ACTIVE = new Set<string>(["queued", "building", "deploying"]);

/** Moves a claimed deployment on and announces it, when this worker still holds its fence. Throws FenceLost. */
export async function advanceDeployment(ctx: Context, claim: DeploymentRow, advance: Advance): Promise<void> {
  await withTransaction(ctx.db, async (tx) => {
    const [row] = await tx.orm
      .update(deployments)
      .set({
        phase: advance.phase,
        status: advance.phase,
        error: advance.error ?? null,
        ...(ACTIVE.has(advance.phase) ? {} : { finishedAt: ctx.clock.now() }),
      })
      .where(and(eq(deployments.id, claim.id), eq(deployments.fence, claim.fence)))
      .returning();
    if (!row) throw new FenceLost(claim.id);
    await advance.alongside?.(tx, row);
    await recordEvent(tx, ctx, claim.id, { status: advance.phase, message: advance.message });
  });
}
