import { requireCaller } from "../../platform/authorize.ts";
import type { Context } from "../../platform/context.ts";
import { requireOwnApiKey } from "../api-keys/require-own-api-key.ts";

const HOUR_MS = 3_600_000;

export interface HourUsage {
  /** Beginning of the hour. */
  hour: string;
  requests: number;
  errors: number;
}

/**
 * Requests and errors of one of the caller's keys by hour (UTC), oldest first, the present hour last, hours without any
 * as zero. Hours are kept for 90 days. Errors: `not_found`.
 */
export async function readHourlyUsage(ctx: Context, input: { id: string; hours: number }): Promise<HourUsage[]> {
  const principal = requireCaller(ctx, "admin");
  await requireOwnApiKey(ctx, principal, input.id);
  const present = Math.floor(ctx.clock.now().getTime() / HOUR_MS);
  const first = present - input.hours + 1;
  const rows = await ctx.db.sql<{ hour: number; requests: string; errors: string }[]>`
    SELECT (extract(epoch FROM hour) / 3600)::int AS hour, requests, errors FROM api_usage_hours
    WHERE api_key_id = ${input.id} AND hour >= to_timestamp(${first}::bigint * 3600)
      AND hour <= to_timestamp(${present}::bigint * 3600)`;
  const byHour = new Map(rows.map((row) => [row.hour, row]));
  return Array.from({ length: input.hours }, (_, i) => {
    const row = byHour.get(first + i);
    return {
      hour: new Date((first + i) * HOUR_MS).toISOString(),
      requests: Number(row?.requests ?? 0),
      errors: Number(row?.errors ?? 0),
    };
  });
}
