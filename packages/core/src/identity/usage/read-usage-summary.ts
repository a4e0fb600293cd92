import type { UsageSummary } from "@quayside/contracts";
import { requireOverride } from "../../platform/authorize.ts";
import type { Context } from "../../platform/context.ts";

const DAY_MS = 86_400_000;

/** Usage of all keys in the last `days` days (UTC), today among them. Errors: `sign_in_required` for anybody but the gateway. */
export async function readUsageSummary(ctx: Context, input: { days: number }): Promise<UsageSummary> {
  requireOverride(ctx, "gateway");
  const now = ctx.clock.now();
  const since = new Date(Math.floor(now.getTime() / DAY_MS - (input.days - 1)) * DAY_MS);
  const [row] = await ctx.db.sql<{ liveKeys: number; requests: string; errors: string; activeKeys: number }[]>`
    SELECT (SELECT count(*)::int FROM api_keys WHERE environment = 'live' AND revoked_at IS NULL
        AND (expires_at IS NULL OR expires_at > ${now.toISOString()}::timestamptz)) AS "liveKeys",
      least(coalesce(sum(requests), 0), 9007199254740991) AS requests,
      least(coalesce(sum(errors), 0), 9007199254740991) AS errors, count(*)::int AS "activeKeys"
    FROM (
      SELECT sum(requests) AS requests, sum(errors) AS errors FROM api_usage_days
      WHERE day >= ${since.toISOString().slice(0, 10)}::date AND (requests > 0 OR errors > 0)
      GROUP BY api_key_id) AS by_key`;
  return {
    days: input.days,
    since: since.toISOString(),
    liveKeys: row?.liveKeys ?? 0,
    requests: Number(row?.requests ?? 0),
    errors: Number(row?.errors ?? 0),
    activeKeys: row?.activeKeys ?? 0,
  };
}
