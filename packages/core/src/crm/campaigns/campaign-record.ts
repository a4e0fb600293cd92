import { type Attributes, type CampaignRecord, type CampaignStatus, PlatformError } from "@quayside/contracts";

/** A campaign as it is selected; times as Unix milliseconds. */
export interface CampaignRow {
  id: string;
  name: string;
  status: CampaignStatus;
  description: string | null;
  startsAt: number | null;
  endsAt: number | null;
  attributes: Attributes;
  createdAt: number;
  updatedAt: number;
}

const milliseconds = (column: string) => `(extract(epoch FROM ${column}) * 1000)::float8`;

export const CAMPAIGN_COLUMNS = `id, name, status, description, attributes,
  ${milliseconds("starts_at")} AS "startsAt", ${milliseconds("ends_at")} AS "endsAt",
  ${milliseconds("created_at")} AS "createdAt", ${milliseconds("updated_at")} AS "updatedAt"`;

export function toCampaignRecord(row: CampaignRow): CampaignRecord {
  return {
    id: row.id,
    name: row.name,
    status: row.status,
    description: row.description,
    startsAt: row.startsAt === null ? null : new Date(row.startsAt).toISOString(),
    endsAt: row.endsAt === null ? null : new Date(row.endsAt).toISOString(),
    attributes: row.attributes,
    createdAt: new Date(row.createdAt).toISOString(),
    updatedAt: new Date(row.updatedAt).toISOString(),
  };
}

/** Throws `validation_failed` (422) for an end before the start. */
export function requireOrder({ startsAt, endsAt }: { startsAt: number | null; endsAt: number | null }): void {
  if (startsAt === null || endsAt === null || endsAt >= startsAt) return;
  const message = "endsAt must not be before startsAt.";
  throw new PlatformError("validation_failed", message, {
    issues: [{ field: "endsAt", code: "invalid_value", message }],
  });
}

export function noCampaign(id: string): PlatformError {
  return new PlatformError("not_found", `No campaign has the id ${id}.`);
}
