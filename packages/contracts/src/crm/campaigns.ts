import { z } from "zod";
import { dateTime, givenDateTime, plainText, uuid, visibleName } from "../platform/text.ts";
import { attributes } from "./attributes.ts";
import { cursor, pageLimit, pageOf, searchText } from "./pages.ts";

export const campaignStatus = z.enum(["draft", "active", "paused", "completed", "archived"]);
export type CampaignStatus = z.infer<typeof campaignStatus>;

export const campaignRecord = z.object({
  id: z.guid(),
  name: z.string(),
  status: campaignStatus,
  description: z.string().nullable(),
  startsAt: dateTime.nullable(),
  endsAt: dateTime.nullable(),
  attributes: z.record(z.string(), z.unknown()),
  createdAt: dateTime,
  updatedAt: dateTime,
});
export type CampaignRecord = z.infer<typeof campaignRecord>;

export const listCampaignsInput = z.strictObject({
  limit: pageLimit(50),
  cursor: cursor.optional(),
  status: campaignStatus.optional(),
  q: searchText.optional().describe("Part of a name; case does not matter."),
});
export type ListCampaignsInput = z.output<typeof listCampaignsInput>;
export const listCampaignsOutput = pageOf(campaignRecord);
export const campaignIdInput = z.strictObject({ id: uuid });

const writable = {
  name: visibleName(500),
  status: campaignStatus,
  description: plainText(0, 10_000).nullable(),
  startsAt: givenDateTime.nullable(),
  endsAt: givenDateTime.nullable().describe("Not before startsAt."),
  attributes,
};

export const createCampaignInput = z.strictObject({
  name: writable.name,
  status: writable.status.default("draft"),
  description: writable.description.optional(),
  startsAt: writable.startsAt.optional(),
  endsAt: writable.endsAt.optional(),
  attributes: writable.attributes.optional(),
});
export type CreateCampaignInput = z.output<typeof createCampaignInput>;

export const updateCampaignInput = z.strictObject({
  id: uuid,
  name: writable.name.optional(),
  status: writable.status.optional(),
  description: writable.description.optional(),
  startsAt: writable.startsAt.optional(),
  endsAt: writable.endsAt.optional(),
  attributes: writable.attributes.optional().describe("Merged key by key; null removes a key."),
});
export type UpdateCampaignInput = z.output<typeof updateCampaignInput>;
