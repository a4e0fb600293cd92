import type { CampaignRecord, UpdateCampaignInput } from "@quayside/contracts";
import { campaigns, type Database, withTransaction } from "@quayside/db";
import { and, eq } from "drizzle-orm";
import { recordAudit } from "../../platform/audit.ts";
import { requireCaller } from "../../platform/authorize.ts";
import type { Context } from "../../platform/context.ts";
import { mergeAttributes } from "../merge-attributes.ts";
import { CAMPAIGN_COLUMNS, type CampaignRow, noCampaign, requireOrder, toCampaignRecord } from "./campaign-record.ts";

/**
 * Changes the given fields; attributes are merged key by key, and null removes one. Errors: `not_found`,
 * `validation_failed`, also when the end comes before the start after the change.
 */
export async function updateCampaign(ctx: Context, input: UpdateCampaignInput): Promise<CampaignRecord> {
  const { organization } = requireCaller(ctx, "write");
  return withTransaction(ctx.db, async (tx) => {
    const row = withFields(await lockCampaign(tx, organization.id, input.id), input);
    requireOrder(row);
    const now = ctx.clock.now();
    await tx.orm
      .update(campaigns)
      .set({
        name: row.name,
        status: row.status,
        description: row.description,
        startsAt: row.startsAt === null ? null : new Date(row.startsAt),
        endsAt: row.endsAt === null ? null : new Date(row.endsAt),
        attributes: row.attributes,
        updatedAt: now,
      })
      .where(and(eq(campaigns.organizationId, organization.id), eq(campaigns.id, input.id)));
    const fields = Object.keys(input).filter((field) => field !== "id");
    await recordAudit(tx, ctx, { action: "campaign.updated", target: `campaign:${input.id}`, details: { fields } });
    return toCampaignRecord({ ...row, updatedAt: now.getTime() });
  });
}

function withFields(row: CampaignRow, input: UpdateCampaignInput): CampaignRow {
  const timeOf = (given: string | null | undefined, before: number | null) =>
    given === undefined ? before : given === null ? null : Date.parse(given);
  return {
    ...row,
    name: input.name ?? row.name,
    status: input.status ?? row.status,
    description: input.description === undefined ? row.description : input.description,
    startsAt: timeOf(input.startsAt, row.startsAt),
    endsAt: timeOf(input.endsAt, row.endsAt),
    attributes: input.attributes ? mergeAttributes(row.attributes, input.attributes) : row.attributes,
  };
}

async function lockCampaign(tx: Database, organizationId: string, id: string): Promise<CampaignRow> {
  const [row] = await tx.sql<CampaignRow[]>`
    SELECT ${tx.sql.unsafe(CAMPAIGN_COLUMNS)} FROM campaigns
    WHERE organization_id = ${organizationId} AND id = ${id} FOR NO KEY UPDATE`;
  if (!row) throw noCampaign(id);
  return row;
}
