import type { CampaignRecord, ListCampaignsInput } from "@quayside/contracts";
import { requireCaller } from "../../platform/authorize.ts";
import type { Context } from "../../platform/context.ts";
import { pageNewestFirst } from "../newest-first.ts";
import { CAMPAIGN_COLUMNS, type CampaignRow, toCampaignRecord } from "./campaign-record.ts";

/** `campaigns_text_idx` is on this expression. */
const TEXT = "lower(name)";

/**
 * The organization's campaigns, newest first, 1 to 200 a page, of one status if wanted; `q` is a part of the name.
 * Errors: `invalid_cursor` (422).
 */
export async function listCampaigns(
  ctx: Context,
  input: ListCampaignsInput,
): Promise<{ data: CampaignRecord[]; next_cursor: string | null }> {
  const { organization } = requireCaller(ctx, "read");
  const { rows, nextCursor } = await pageNewestFirst<CampaignRow>(ctx, {
    ...input,
    organizationId: organization.id,
    table: "campaigns",
    columns: CAMPAIGN_COLUMNS,
    text: TEXT,
  });
  return { data: rows.map(toCampaignRecord), next_cursor: nextCursor };
}
