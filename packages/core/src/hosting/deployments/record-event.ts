import { type Database, deploymentEvents } from "@quayside/db";
import { publish } from "../../platform/broker.ts";
import type { Context } from "../../platform/context.ts";
import { deploymentChannel } from "../fleet/channels.ts";

/**
 * One `update` of a deployment's stream. The caller must have changed or locked the deployment's row in this
 * transaction before: that keeps the ids of its events in the order of their commits.
 */
export async function recordEvent(
  tx: Database,
  ctx: Context,
  deploymentId: string,
  event: { status: string; message: string },
): Promise<void> {
  await tx.orm.insert(deploymentEvents).values({ deploymentId, ...event, createdAt: ctx.clock.now() });
  await publish(tx, deploymentChannel(deploymentId));
}
