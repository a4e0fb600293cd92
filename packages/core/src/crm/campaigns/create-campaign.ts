import type { CampaignRecord, CreateCampaignInput } from "@quayside/contracts";
import { campaigns, withTransaction } from "@quayside/db";
import { recordAudit } from "../../platform/audit.ts";
import { requireCaller } from "../../platform/authorize.ts";
import type { Context } from "../../platform/context.ts";
import { mergeAttributes } from "../merge-attributes.ts";
import { type CampaignRow, requireOrder, toCampaignRecord } from "./campaign-record.ts";

/** A campaign of the caller's organization. Errors: `validation_failed`, also for an end before the start. */
export async function createCampaign(ctx: Context, input: CreateCampaignInput): Promise<CampaignRecord> {
  const { organization } = requireCaller(ctx, "write");
  const now = ctx.clock.now();
  const row: CampaignRow = {
    id: ctx.ids.uuid(),
    name: input.name,
    status: input.status,
    description: input.description ?? null,
    startsAt: input.startsAt ? Date.parse(input.startsAt) : null,
    endsAt: input.endsAt ? Date.parse(input.endsAt) : null,
    attributes: mergeAttributes({}, input.attributes ?? {}),
    createdAt: now.getTime(),
    updatedAt: now.getTime(),
  };
  requireOrder(row);
  await withTransaction(ctx.db, async (tx) => {
    await tx.orm.insert(campaigns).values({
      ...row,
      organizationId: organization.id,
      startsAt: row.startsAt === null ? null : new Date(row.startsAt),
      endsAt: row.endsAt === null ? null : new Date(row.endsAt),
      createdAt: now,
      updatedAt: now,
    });
    await recordAudit(tx, ctx, { action: "campaign.created", target: `campaign:${row.id}` });
  });
  return toCampaignRecord(row);
}
