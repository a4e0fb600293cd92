import { z } from "zod";

/** Every background job: its name in the queue and the payload it is given. */
export const jobPayloads = {
  "crm.refresh_scores": z.looseObject({}),
  "hosting.deploy": z.strictObject({ deploymentId: z.guid() }),
  "hosting.prune_logs": z.looseObject({}),
  "identity.apply_payment_event": z.strictObject({ eventId: z.string() }),
  "identity.prune_usage": z.looseObject({}),
  "identity.refresh_entitlement": z.strictObject({ userId: z.guid() }),
  "webhooks.deliver": z.strictObject({ endpointId: z.guid() }),
  "webhooks.prune": z.looseObject({}),
  "webhooks.sweep": z.looseObject({}),
  "platform.prune_expired": z.looseObject({}),
} as const;

export type JobName = keyof typeof jobPayloads;
export type JobPayload<N extends JobName> = z.infer<(typeof jobPayloads)[N]>;

/** Jobs that only the process that owns this machine's releases may run. */
export const HOST_JOBS: readonly JobName[] = ["hosting.deploy"];
