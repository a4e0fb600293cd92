import { z } from "zod";
import { boundedList } from "../crm/bounded-list.ts";
import { dateTime, plainText, uuid } from "../platform/text.ts";
import { listDeliveriesOutput } from "./deliveries.ts";
import { webhookUrl } from "./endpoints.ts";
import { WEBHOOK_EVENT_TYPES, type WebhookEventType } from "./events.ts";

/** What an endpoint of the organization can listen to. */
export const ENDPOINT_EVENTS = [...WEBHOOK_EVENT_TYPES, "*"] as const;
type EndpointEvent = WebhookEventType | "*";

// Which names are known is asked by the verb, whose error lists the right ones.
const endpointEvent = plainText(1, 100).meta({ enum: [...ENDPOINT_EVENTS] }) as unknown as z.ZodType<
  EndpointEvent,
  EndpointEvent
>;

const SECRET_PREFIX = "whsec_";
const MIN_SECRET_LENGTH = 16;
const MAX_SECRET_LENGTH = 256;

/** Signs deliveries. Behind `whsec_` stands the key in base64, or it is no key for Standard Webhooks. */
export const signingSecret = plainText(MIN_SECRET_LENGTH, MAX_SECRET_LENGTH)
  .refine((value) => /^\P{C}+$/u.test(value) && value.trim() !== "", "must have printable characters only")
  .refine(
    (value) => !value.startsWith(SECRET_PREFIX) || isKey(value.slice(SECRET_PREFIX.length)),
    `must go on with at least ${MIN_SECRET_LENGTH} characters of base64 after '${SECRET_PREFIX}'`,
  );

/** Base64 of either alphabet, with its padding or without. */
function isKey(text: string): boolean {
  const digits = text.replace(/={1,2}$/, "");
  const whole = digits.length === text.length ? digits.length % 4 !== 1 : text.length % 4 === 0;
  return /^[A-Za-z0-9+/_-]+$/.test(digits) && whole && digits.length >= MIN_SECRET_LENGTH;
}

const writable = {
  url: webhookUrl.describe("Where deliveries are sent."),
  events: boundedList(endpointEvent, 1, 20).describe("Event types, or `*` for all of them."),
  secret: signingSecret,
};

export const createWebhookInput = z.strictObject({
  url: writable.url,
  events: writable.events,
  secret: writable.secret.optional().describe("Signs the deliveries; made by the server when left out."),
});
export type CreateWebhookInput = z.output<typeof createWebhookInput>;

export const updateWebhookInput = z.strictObject({
  id: uuid,
  url: writable.url.optional(),
  events: writable.events.optional(),
  secret: writable.secret.optional().describe("Another one takes over; the present one signs too for 24 hours."),
  enabled: z.boolean().optional().describe("A disabled endpoint is told nothing, and what waits for it is cancelled."),
});
export type UpdateWebhookInput = z.output<typeof updateWebhookInput>;

export const webhookRecord = z.object({
  id: z.guid(),
  url: z.string(),
  events: z.array(z.string()),
  enabled: z.boolean(),
  disabledReason: z.string().nullable(),
  createdAt: dateTime,
  updatedAt: dateTime,
});
export type WebhookRecord = z.infer<typeof webhookRecord>;

export const createWebhookOutput = webhookRecord.extend({
  secret: z.string().describe("Shown in this answer only."),
});
export type CreateWebhookOutput = z.infer<typeof createWebhookOutput>;
export const listWebhooksOutput = z.array(webhookRecord);
export const readWebhookOutput = webhookRecord.extend(listDeliveriesOutput.shape);
export type ReadWebhookOutput = z.infer<typeof readWebhookOutput>;

export const rotateSecretInput = z.strictObject({
  id: uuid,
  expiresIn: z.int().min(0).max(168).default(24).describe("Hours for which the present secret goes on to sign too."),
});
export type RotateSecretInput = z.output<typeof rotateSecretInput>;
export const rotatedSecret = z.object({
  secret: z.string().describe("The new one; shown in this answer only."),
  previousSecretUntil: dateTime.nullable().describe("When the old one ends; null: it has ended."),
});
export type RotatedSecret = z.infer<typeof rotatedSecret>;
