import { z } from "zod";
import { dateTime, uuid } from "../platform/text.ts";

export const MAX_USAGE_ENTRIES = 10_000;

const count = z.int().min(0);

const usageEntry = z.strictObject({
  apiKeyId: uuid,
  hour: dateTime.describe("Any moment of the hour; cut to the hour (UTC)."),
  requests: count,
  errors: count.default(0),
});
export type UsageEntry = z.output<typeof usageEntry>;

export const ingestUsageInput = z.strictObject({ entries: z.array(usageEntry).max(MAX_USAGE_ENTRIES) });
export const ingestUsageOutput = z.object({
  written: z.int().describe("Entries stored. Those of unknown keys are skipped."),
  refused: z
    .array(z.object({ index: z.int(), message: z.string() }))
    .optional()
    .describe("Entries that are too old or ahead of time; left out when there are none."),
});
export type IngestUsageOutput = z.infer<typeof ingestUsageOutput>;

export const usageSummaryInput = z.strictObject({ days: z.int().min(1).max(365).default(30) });
export const usageSummaryOutput = z.object({
  days: z.int(),
  since: dateTime.describe("Beginning of the first day (UTC)."),
  liveKeys: z.int().describe("Live keys that are neither revoked nor expired."),
  requests: z.int(),
  errors: z.int(),
  activeKeys: z.int().describe("Keys with usage in these days."),
});
export type UsageSummary = z.infer<typeof usageSummaryOutput>;

export const hourlyUsageInput = z.strictObject({ id: uuid, hours: z.int().min(1).max(2_160).default(48) });
export const hourlyUsageOutput = z.object({
  keyId: z.guid(),
  hours: z.int(),
  usage: z.array(z.object({ hour: dateTime, requests: z.int(), errors: z.int() })),
});
