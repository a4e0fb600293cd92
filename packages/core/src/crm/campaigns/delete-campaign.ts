import { withTransaction } from "@quayside/db";
import { recordAudit } from "../../platform/audit.ts";
import { requireCaller } from "../../platform/authorize.ts";
import type { Context } from "../../platform/context.ts";
import { noCampaign } from "./campaign-record.ts";

/** Deletes a campaign; touchpoints that named it stay, without a campaign. Errors: `not_found`. */
export async function deleteCampaign(ctx: Context, input: { id: string }): Promise<void> {
  const { organization } = requireCaller(ctx, "write");
  await withTransaction(ctx.db, async (tx) => {
    // Whoever records a touchpoint of it meanwhile waits, and then finds it gone.
    const [campaign] = await tx.sql`
      SELECT id FROM campaigns WHERE organization_id = ${organization.id} AND id = ${input.id} FOR UPDATE`;
    if (!campaign) throw noCampaign(input.id);
    const { count } = await tx.sql`
      UPDATE timeline_events SET campaign_id = NULL
      WHERE organization_id = ${organization.id} AND campaign_id = ${input.id}`;
    await tx.sql`DELETE FROM campaigns WHERE organization_id = ${organization.id} AND id = ${input.id}`;
    await recordAudit(tx, ctx, {
      action: "campaign.deleted",
      target: `campaign:${input.id}`,
      details: { unlinkedTouchpoints: count },
    });
  });
}
