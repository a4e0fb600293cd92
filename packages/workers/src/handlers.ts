import {
  applyPaymentEvent,
  type Context,
  type HostAgent,
  type HostContext,
  pruneActivity,
  pruneDeletedWebhooks,
  pruneExpired,
  pruneLogs,
  pruneUsage,
  pruneWebhooks,
  refreshEntitlement,
  refreshScores,
  runDeployment,
  sweepDeliveries,
  type WebhookPump,
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
    "webhooks.prune": async (_payload, { stopping }) => {
      await pruneWebhooks(ctx, stopping);
      await pruneActivity(ctx, stopping);
      await pruneDeletedWebhooks(ctx, stopping);
    },
    "webhooks.sweep": async () => void (await sweepDeliveries(ctx)),
  };
}

/** Wakes the pump of this process. A pool of its own, so that no long job holds up deliveries. */
export function webhookHandlers(pump: WebhookPump): Handlers {
  return { "webhooks.deliver": async ({ endpointId }) => pump.wake(endpointId) };
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
  { task: "webhooks.sweep", match: "* * * * *", options: { backfillPeriod: 0 } },
  { task: "webhooks.prune", match: "41 * * * *", options: { backfillPeriod: 0 } },
  { task: "hosting.prune_logs", match: "17 * * * *", options: { backfillPeriod: 0 } },
];
