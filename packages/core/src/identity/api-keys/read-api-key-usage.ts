import { PlatformError } from "@quayside/contracts";
import { apiKeys } from "@quayside/db";
import { and, eq } from "drizzle-orm";
import { requireCaller } from "../../platform/authorize.ts";
import type { Context } from "../../platform/context.ts";

export interface DayUsage {
  day: string;
  requests: number;
  errors: number;
}

/** Requests and errors of a key by day (UTC), oldest first, days without any as zero. Errors: `not_found`. */
export async function readApiKeyUsage(ctx: Context, input: { id: string; days: number }): Promise<DayUsage[]> {
  const principal = requireCaller(ctx, "admin");
  const [key] = await ctx.db.orm
    .select({ id: apiKeys.id })
    .from(apiKeys)
    .where(and(eq(apiKeys.id, input.id), eq(apiKeys.userId, principal.user.id)));
  if (!key) throw new PlatformError("not_found", `No API key of yours has the id ${input.id}.`);
  const today = ctx.clock.now().toISOString().slice(0, 10);
  const rows = await ctx.db.sql<{ day: string; requests: string; errors: string }[]>`
    SELECT to_char(day, 'YYYY-MM-DD') AS day, coalesce(sum(h.requests), 0) AS requests, coalesce(sum(h.errors), 0) AS errors
    FROM generate_series(${today}::timestamp - (${input.days}::int - 1) * interval '1 day', ${today}::timestamp, interval '1 day') AS day
    LEFT JOIN api_usage_hours h ON h.api_key_id = ${input.id}
      AND h.hour >= day AT TIME ZONE 'UTC' AND h.hour < (day + interval '1 day') AT TIME ZONE 'UTC'
    GROUP BY day ORDER BY day`;
  return rows.map((row) => ({ day: row.day, requests: Number(row.requests), errors: Number(row.errors) }));
}
