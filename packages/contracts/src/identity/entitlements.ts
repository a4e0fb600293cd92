import { z } from "zod";
import { dateTime, plainText, uuid } from "../platform/text.ts";
import { plan } from "./api-keys.ts";

/** Years 1970 to 9999, which every store and language of ours can hold. */
const LAST_MOMENT_MS = 253_402_300_799_999;
const storableDateTime = dateTime.refine((value) => {
  const ms = Date.parse(value);
  return ms >= 0 && ms <= LAST_MOMENT_MS;
}, "must be in the years 1970 to 9999");

export const entitlementRecord = z.object({
  userId: z.guid(),
  plan,
  entitledUntil: dateTime.nullable().describe("Null: without an end."),
  source: z.string(),
  updatedAt: dateTime,
});
export type EntitlementRecord = z.infer<typeof entitlementRecord>;

export const putEntitlementInput = z.strictObject({
  userId: uuid,
  plan,
  entitledUntil: storableDateTime.nullish().describe("Until when the plan holds. Null or left out: without an end."),
  source: plainText(1, 40).default("manual").describe("Who or what set the plan."),
});
export const putEntitlementOutput = z.object({ entitlement: entitlementRecord });

export const readEntitlementInput = z.strictObject({ userId: uuid });
export const readEntitlementOutput = z.object({ entitlement: entitlementRecord.nullable() });
