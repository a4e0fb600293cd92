import type { DeliveryActivity } from "@quayside/contracts";
import { withTransaction } from "@quayside/db";
import { requireCaller } from "../../platform/authorize.ts";
import type { Context } from "../../platform/context.ts";
import { activityChannel } from "./record-activity.ts";
import { watchOrganization } from "./watch-organization.ts";

const RENEW_INTERVAL_MS = 3_600_000;
const PLACED_AT_ONCE = 1_000;

export interface ActivityRow extends DeliveryActivity {
  id: number;
}

/**
 * The organization's deliveries as they change: what comes after `lastEventId`, or from now on when it is left out,
 * until the reader leaves. Nothing is lost for who comes back within a day. Those of the CRM are not among it.
 */
export async function followActivity(
  ctx: Context,
  input: { lastEventId?: string | undefined },
  signal: AbortSignal,
): Promise<AsyncGenerator<ActivityRow>> {
  const { organization } = requireCaller(ctx, "read");
  await watchOrganization(ctx, organization.id, signal);
  const source = {
    channel: activityChannel(organization.id),
    read: (afterId: number, limit: number) => readActivity(ctx, organization.id, afterId, limit),
    latest: () => latestPosition(ctx, organization.id),
  };
  const start = input.lastEventId === undefined ? await source.latest() : Number(input.lastEventId);
  return keepWatching(ctx, organization.id, ctx.feeds.follow(source, start, signal), signal);
}

async function* keepWatching(
  ctx: Context,
  organizationId: string,
  rows: AsyncGenerator<ActivityRow>,
  signal: AbortSignal,
): AsyncGenerator<ActivityRow> {
  const renew = () =>
    watchOrganization(ctx, organizationId, signal).catch((error: unknown) =>
      ctx.log.warn({ err: error, organizationId }, "a watch could not be renewed; it is tried again in an hour"),
    );
  const timer = setInterval(renew, RENEW_INTERVAL_MS);
  timer.unref();
  try {
    yield* rows;
  } finally {
    clearInterval(timer);
  }
}

async function readActivity(
  ctx: Context,
  organizationId: string,
  afterPosition: number,
  limit: number,
): Promise<ActivityRow[]> {
  await placeNew(ctx, organizationId);
  const rows = await ctx.db.sql<(Omit<ActivityRow, "id" | "at"> & { id: string; at: number })[]>`
    SELECT position AS id, delivery_id AS "deliveryId", endpoint_id AS "endpointId", event_id AS "eventId", type,
      status, attempt, status_code AS "statusCode", (extract(epoch FROM at) * 1000)::float8 AS at
    FROM webhook_activity WHERE organization_id = ${organizationId} AND position > ${afterPosition}
    ORDER BY position LIMIT ${limit}`;
  return rows.map((row) => ({ ...row, id: Number(row.id), at: new Date(row.at).toISOString() }));
}

async function latestPosition(ctx: Context, organizationId: string): Promise<number> {
  while (await placeNew(ctx, organizationId));
  const [row] = await ctx.db.sql<{ position: string | null }[]>`
    SELECT max(position) AS position FROM webhook_activity WHERE organization_id = ${organizationId}`;
  return Number(row?.position ?? 0);
}

/**
 * Rows get their place in the stream when they are first seen, one reader at a time, and not when they are written:
 * the transactions of writers end in any order, and none of them has to wait for another. True when there may be more.
 */
async function placeNew(ctx: Context, organizationId: string): Promise<boolean> {
  const [unplaced] = await ctx.db.sql`
    SELECT 1 FROM webhook_activity WHERE organization_id = ${organizationId} AND position IS NULL LIMIT 1`;
  if (!unplaced) return false;
  return withTransaction(ctx.db, async (tx) => {
    await tx.sql`SELECT pg_advisory_xact_lock(hashtext('webhook activity'), hashtext(${organizationId}))`;
    const { count } = await tx.sql`
      WITH placed AS MATERIALIZED (
        SELECT id, nextval('webhook_activity_positions') AS position FROM (
          SELECT id FROM webhook_activity WHERE organization_id = ${organizationId} AND position IS NULL
          ORDER BY id LIMIT ${PLACED_AT_ONCE}) AS unplaced
      )
      UPDATE webhook_activity a SET position = placed.position FROM placed WHERE a.id = placed.id`;
    return count === PLACED_AT_ONCE;
  });
}
