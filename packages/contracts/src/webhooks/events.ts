import { z } from "zod";

/** Event types of the platform that an organization's endpoints can listen to, with what each is about. */
export const WEBHOOK_EVENT_TYPES = [
  "resource.created",
  "resource.deleted",
  "resource.updated",
  "alert.triggered",
  "alert.resolved",
  "cost.threshold_exceeded",
  "sync.completed",
  "sync.failed",
] as const;
export type WebhookEventType = (typeof WEBHOOK_EVENT_TYPES)[number];

/** Sent on demand to try an endpoint, and when an endpoint was disabled. */
export const SYSTEM_EVENT_TYPES = ["webhook.test", "webhook.endpoint_disabled"] as const;

const resource = z.object({
  resource: z.enum(["project", "app", "package", "platform_project"]),
  id: z.string(),
  name: z.string(),
  slug: z.string().optional(),
  changed: z.array(z.string()).optional().describe("Fields that have another value now."),
});

const alert = z.object({
  alert: z.enum(["app_unhealthy", "app_crashed"]),
  appId: z.guid(),
  appSlug: z.string(),
  component: z.string(),
  message: z.string(),
});

const sync = z.object({
  configSlugs: z.array(z.string()),
  message: z.string(),
});

/** `data` of each event. */
export const webhookEventData = {
  "resource.created": resource,
  "resource.deleted": resource,
  "resource.updated": resource,
  "alert.triggered": alert,
  "alert.resolved": alert,
  "cost.threshold_exceeded": z.object({
    limit: z.string(),
    used: z.number(),
    allowed: z.number(),
    percent: z.union([z.literal(80), z.literal(100)]),
  }),
  "sync.completed": sync,
  "sync.failed": sync,
} as const satisfies Record<WebhookEventType, z.ZodType>;

export type WebhookEventData<T extends WebhookEventType> = z.input<(typeof webhookEventData)[T]>;
