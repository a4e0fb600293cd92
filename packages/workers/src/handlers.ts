import {
  applyPaymentEvent,
  type Context,
  type HostAgent,
  type HostContext,
  pruneExpired,
  pruneLogs,
  pruneUsage,
  refreshEntitlement,
  refreshScores,
  runDeployment,
} from "@quayside/core";
import type { CronItem } from "graphile-worker";
import type { Handlers } from "./platform/worker-pool.ts";

/** Short jobs that any worker process can run. */
export function commonHandlers(ctx: Context): Handlers {
  return {
    "crm.refresh_scores": async (_payload, { stopping }) => void (await refreshScores(ctx, stopping)),
    "hosting.prune_logs": async () => void (await pruneLogs(ctx)),
    "identity.apply_payment_event": (payload) => applyPaymentEvent(ctx, payload),
    "identity.prune_usage": async () => void (await pruneUsage(ctx)),
    "identity.refresh_entitlement": (payload) => refreshEntitlement(ctx, payload),
    "platform.prune_expired": () => pruneExpired(ctx),
  };
}

/** Jobs of the process that owns this machine's releases. */
export function hostHandlers(ctx: HostContext, agent: HostAgent): Handlers {
  return { "hosting.deploy": (payload, run) => runDeployment(ctx, agent, payload, run) };
}

/** Recurring jobs. Graphile Worker adds each once, however many processes run. */
export const RECURRING: readonly CronItem[] = [
  { task: "platform.prune_expired", match: "*/10 * * * *", options: { backfillPeriod: 0 } },
  { task: "crm.refresh_scores", match: "*/5 * * * *", options: { backfillPeriod: 0 } },
  { task: "identity.prune_usage", match: "41 * * * *", options: { backfillPeriod: 0 } },
  { task: "hosting.prune_logs", match: "17 * * * *", options: { backfillPeriod: 0 } },
];
