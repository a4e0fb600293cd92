import type { CampaignRecord } from "@quayside/contracts";
import { requireCaller } from "../../platform/authorize.ts";
import type { Context } from "../../platform/context.ts";
import { CAMPAIGN_COLUMNS, type CampaignRow, noCampaign, toCampaignRecord } from "./campaign-record.ts";

/** One campaign. Errors: `not_found`, also for another organization's. */
export async function readCampaign(ctx: Context, input: { id: string }): Promise<CampaignRecord> {
  const { organization } = requireCaller(ctx, "read");
  const { sql } = ctx.db;
  const [row] = await sql<CampaignRow[]>`
    SELECT ${sql.unsafe(CAMPAIGN_COLUMNS)} FROM campaigns
    WHERE organization_id = ${organization.id} AND id = ${input.id}`;
  if (!row) throw noCampaign(input.id);
  return toCampaignRecord(row);
}
