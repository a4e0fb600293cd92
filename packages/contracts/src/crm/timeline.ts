import { z } from "zod";
import { dateTime, givenDateTime, plainText, uuid } from "../platform/text.ts";
import { attributes } from "./attributes.ts";
import { boundedList } from "./bounded-list.ts";

export const timelineEvent = z.object({
  id: z.guid(),
  type: z.string(),
  occurredAt: dateTime,
  title: z.string(),
  data: z.record(z.string(), z.unknown()),
  campaignId: z.guid().optional(),
});
export type TimelineEvent = z.infer<typeof timelineEvent>;

export const readTimelineInput = z.strictObject({ id: uuid, limit: z.int().min(1).max(200).default(50) });
export const readTimelineOutput = z.object({ events: z.array(timelineEvent) });

/** Kinds of touchpoints that have a weight of their own in the score; any other kind has a small one. */
export const TOUCHPOINT_WEIGHTS: Readonly<Record<string, number>> = {
  "email.sent": 0,
  "email.bounced": 0,
  "email.unsubscribed": 0,
  "email.opened": 1,
  "email.clicked": 3,
  "email.replied": 8,
  "page.viewed": 1,
  "form.submitted": 6,
  "event.attended": 6,
  "call.held": 8,
  "meeting.held": 10,
  "trial.started": 10,
  "purchase.made": 12,
};

const touchpoint = z.strictObject({
  personId: uuid,
  type: z
    .string()
    .max(100)
    .regex(/^[a-z][a-z0-9_]*(\.[a-z][a-z0-9_]*)*$/, "use dot-separated lower-case words such as email.opened")
    .refine((value) => !value.startsWith("person."), "types that begin with 'person.' are kept for Quayside's own"),
  occurredAt: givenDateTime.optional().describe("Default: now."),
  title: plainText(1, 500).optional(),
  data: attributes.optional(),
  campaignId: uuid.optional(),
});
export type NewTouchpoint = z.output<typeof touchpoint>;

export const recordTouchpointsInput = z.strictObject({ touchpoints: boundedList(touchpoint, 1, 1_000) });
export const recordTouchpointsOutput = z.object({ ids: z.array(z.guid()) });
