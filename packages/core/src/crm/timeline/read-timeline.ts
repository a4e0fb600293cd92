import type { TimelineEvent } from "@quayside/contracts";
import { requireCaller } from "../../platform/authorize.ts";
import type { Context } from "../../platform/context.ts";

interface TimelineRow extends Omit<TimelineEvent, "occurredAt" | "campaignId"> {
  occurredAt: number;
  campaignId: string | null;
}

/** Touchpoints and changes of a person, newest first. Who is not there has none. */
export async function readTimeline(ctx: Context, input: { id: string; limit: number }): Promise<TimelineEvent[]> {
  const { organization } = requireCaller(ctx, "read");
  const rows = await ctx.db.sql<TimelineRow[]>`
    SELECT id, type, (extract(epoch FROM occurred_at) * 1000)::float8 AS "occurredAt", title, data,
      campaign_id AS "campaignId"
    FROM timeline_events
    WHERE organization_id = ${organization.id} AND person_id = coalesce(
      (SELECT person_id FROM person_redirects WHERE organization_id = ${organization.id} AND id = ${input.id}),
      ${input.id})
    ORDER BY occurred_at DESC, id DESC LIMIT ${input.limit}`;
  return rows.map(({ campaignId, occurredAt, ...event }) => ({
    ...event,
    occurredAt: new Date(occurredAt).toISOString(),
    ...(campaignId ? { campaignId } : {}),
  }));
}
