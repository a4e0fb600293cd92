import { z } from "zod";
import { cursor } from "../crm/pages.ts";
import { dateTime, givenDateTime, uuid } from "../platform/text.ts";

export const deliveryStatus = z.enum(["pending", "delivered", "failed", "cancelled"]);
export type DeliveryStatus = z.infer<typeof deliveryStatus>;

/** Milliseconds of each phase; null when it was not reached, or when a kept connection was used. */
export const attemptTimings = z.object({
  dnsMs: z.number().nullable(),
  connectMs: z.number().nullable(),
  tlsMs: z.number().nullable(),
  firstByteMs: z.number().nullable(),
});
export type AttemptTimings = z.infer<typeof attemptTimings>;

export const attemptRecord = z.object({
  attempt: z.int(),
  at: dateTime,
  statusCode: z.int().nullable(),
  durationMs: z.int().nullable().describe("Null while it is under way, or when the sender died."),
  error: z.string().nullable(),
  errorClass: z.string().nullable(),
  responseBody: z.string().nullable().describe("First 4 KB."),
  truncated: z.boolean(),
  address: z.string().nullable().describe("The address that was connected to."),
  timings: attemptTimings.nullable(),
});
export type AttemptRecord = z.infer<typeof attemptRecord>;

export const deliveryRecord = z.object({
  id: z.guid(),
  eventId: z.guid(),
  type: z.string(),
  status: deliveryStatus,
  attempts: z.array(attemptRecord),
  nextAttemptAt: dateTime.nullable(),
  createdAt: dateTime,
});
export type DeliveryRecord = z.infer<typeof deliveryRecord>;

export const listDeliveriesInput = z.strictObject({
  id: uuid,
  limit: z.int().min(1).max(200).default(50).describe("Deliveries of the page, newest first."),
  cursor: cursor.optional().describe("What the page before gave as `deliveriesCursor`."),
  status: deliveryStatus.optional().describe("Only deliveries that are so now."),
});
export type ListDeliveriesInput = z.output<typeof listDeliveriesInput>;
export const listDeliveriesOutput = z.object({
  deliveries: z.array(deliveryRecord),
  deliveriesCursor: z.string().nullable().describe("Of the next page; null when there is none."),
});
export type DeliveryPage = z.infer<typeof listDeliveriesOutput>;

export const deliveryIdInput = z.strictObject({ id: uuid, deliveryId: uuid });
export const queuedDelivery = z.object({ deliveryId: z.guid() });

export const recoverDeliveriesInput = z
  .strictObject({
    id: uuid,
    since: givenDateTime.describe("Deliveries made at this time or later."),
    until: givenDateTime.optional().describe("And before this time; now when left out."),
  })
  .refine(({ since, until }) => until === undefined || Date.parse(until) > Date.parse(since), {
    path: ["until"],
    error: "must be later than 'since'",
  });
export type RecoverDeliveriesInput = z.output<typeof recoverDeliveriesInput>;
export const recoveredDeliveries = z.object({
  deliveries: z.int().describe("How many go out again; at most 100,000 of one request."),
});

/** What became of a delivery, as `webhooks.live` tells it. */
export const deliveryActivity = z.object({
  deliveryId: z.guid(),
  endpointId: z.guid(),
  eventId: z.guid(),
  type: z.string(),
  status: deliveryStatus,
  attempt: z.int().describe("How many attempts were begun; 0 before the first."),
  statusCode: z.int().nullable().describe("What the receiver answered to the last of them."),
  at: dateTime,
});
export type DeliveryActivity = z.infer<typeof deliveryActivity>;

export const liveDeliveriesInput = z.strictObject({
  lastEventId: z
    .string()
    .regex(/^\d{1,18}$/, "must be the id of an event of this stream")
    .optional()
    .describe("Go on after this one; without it the stream begins with what happens next."),
});
