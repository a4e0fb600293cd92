import { z } from "zod";
import { cursor } from "../crm/pages.ts";
import { dateTime, uuid } from "../platform/text.ts";

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
  endpointId: uuid,
  limit: z.int().min(1).max(200).default(50),
  cursor: cursor.optional(),
  status: deliveryStatus.optional(),
});
export type ListDeliveriesInput = z.output<typeof listDeliveriesInput>;
export const listDeliveriesOutput = z.object({
  deliveries: z.array(deliveryRecord),
  deliveriesCursor: z.string().nullable(),
});
