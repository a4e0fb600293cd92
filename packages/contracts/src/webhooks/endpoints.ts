import { z } from "zod";
import { dateTime, uuid, visibleName } from "../platform/text.ts";
import { deliveryRecord } from "./deliveries.ts";

export type WebhookArea = "crm" | "organization";

export const webhookEndpointStatus = z.enum(["enabled", "disabled"]);
export type WebhookEndpointStatus = z.infer<typeof webhookEndpointStatus>;

export const CRM_WEBHOOK_EVENTS = [
  "person.created",
  "person.updated",
  "person.tagged",
  "person.untagged",
  "person.score_changed",
  "company.created",
  "touchpoint.recorded",
] as const;
export type CrmWebhookEvent = (typeof CRM_WEBHOOK_EVENTS)[number];

const MAX_URL_LENGTH = 2_048;
const CONTROL_OR_SPACE = /[\s\p{Cc}]/u;

/** Where deliveries go: http or https, without a user name or password in it. */
export const webhookUrl = z
  .url({ protocol: /^https?$/, error: "must be an http:// or https:// URL" })
  .max(MAX_URL_LENGTH)
  // The parser forgives these; what is stored and shown should be what is called.
  .refine(
    (value) => value.isWellFormed() && !CONTROL_OR_SPACE.test(value),
    "must not contain spaces or control characters",
  )
  .refine((value) => !hasUserInfo(value), "must not contain a user name or password");

function hasUserInfo(value: string): boolean {
  const url = URL.parse(value);
  return url !== null && (url.username !== "" || url.password !== "");
}

const writable = {
  name: visibleName(200),
  url: webhookUrl,
  events: z
    .array(z.enum([...CRM_WEBHOOK_EVENTS, "*"]))
    .min(1)
    .max(20)
    .describe("Event types, or `*` for all of them."),
};

export const createCrmWebhookInput = z.strictObject(writable);
export type CreateCrmWebhookInput = z.output<typeof createCrmWebhookInput>;

export const updateCrmWebhookInput = z.strictObject({
  id: uuid,
  name: writable.name.optional(),
  url: writable.url.optional(),
  events: writable.events.optional(),
  status: webhookEndpointStatus.optional().describe("A disabled endpoint is told nothing."),
});
export type UpdateCrmWebhookInput = z.output<typeof updateCrmWebhookInput>;

export const webhookIdInput = z.strictObject({ id: uuid });
export const createdWebhook = z.object({ id: z.guid() });

export const crmWebhookRecord = z.object({
  id: z.guid(),
  name: z.string(),
  url: z.string(),
  events: z.array(z.string()),
  status: webhookEndpointStatus,
  createdAt: dateTime,
  lastDelivery: deliveryRecord.nullable().describe("The newest delivery, once there was one."),
  secret: z.string().optional().describe("Signing secret; for callers with the scope `admin` only."),
});
export type CrmWebhookRecord = z.infer<typeof crmWebhookRecord>;
export const listCrmWebhooksOutput = z.object({ data: z.array(crmWebhookRecord) });
