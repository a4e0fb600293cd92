import { requireCaller } from "../../platform/authorize.ts";
import type { Context } from "../../platform/context.ts";
import { requireOwnApiKey } from "./require-own-api-key.ts";

export interface DayUsage {
  day: string;
  requests: number;
  errors: number;
}

/** Requests and errors of a key by day (UTC), oldest first, days without any as zero. Errors: `not_found`. */
export async function readApiKeyUsage(ctx: Context, input: { id: string; days: number }): Promise<DayUsage[]> {
  const principal = requireCaller(ctx, "admin");
  await requireOwnApiKey(ctx, principal, input.id);
  const today = ctx.clock.now().toISOString().slice(0, 10);
  const rows = await ctx.db.sql<{ day: string; requests: string; errors: string }[]>`
    SELECT to_char(d, 'YYYY-MM-DD') AS day, coalesce(u.requests, 0) AS requests, coalesce(u.errors, 0) AS errors
    FROM generate_series(${today}::timestamp - (${input.days}::int - 1) * interval '1 day', ${today}::timestamp, interval '1 day') AS d
    LEFT JOIN api_usage_days u ON u.api_key_id = ${input.id} AND u.day = d::date
    ORDER BY d`;
  return rows.map((row) => ({ day: row.day, requests: Number(row.requests), errors: Number(row.errors) }));
}
