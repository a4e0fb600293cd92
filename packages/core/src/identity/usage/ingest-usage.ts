import { createHash } from "node:crypto";
import type { IngestUsageOutput, UsageEntry } from "@quayside/contracts";
import { type Database, withTransaction } from "@quayside/db";
import { requireOverride } from "../../platform/authorize.ts";
import type { Context } from "../../platform/context.ts";
import { inProgress, lockIdempotencyKey, readIdempotencyKey, reused } from "../../platform/idempotency.ts";

const HOUR_SECONDS = 3_600;
const MAX_AGE_MS = 35 * 86_400_000;
const MAX_AHEAD_MS = 5 * 60_000;
/** A report is recognised as sent before for this long. */
const KEY_LIFETIME_MS = 48 * 3_600_000;

export interface UsageReport {
  entries: UsageEntry[];
  /** The header `Idempotency-Key`, or null. */
  idempotencyKey: string | null;
}

/**
 * Adds a gateway's counts to the hours and days of their keys, all or nothing. Entries of unknown keys are skipped;
 * entries more than 35 days old or 5 minutes ahead are refused one by one. With an `Idempotency-Key` the counts and the
 * key are one transaction, so a report that is sent again counts once, whatever broke in between. Errors:
 * `sign_in_required` for anybody but the gateway, `idempotency_key_reused`, `idempotency_in_progress`.
 */
export async function ingestUsage(
  ctx: Context,
  report: UsageReport,
): Promise<{ outcome: IngestUsageOutput; replayed: boolean }> {
  requireOverride(ctx, "gateway");
  if (report.idempotencyKey === null) {
    return { outcome: await addUsage(ctx.db, ctx, report.entries), replayed: false };
  }
  const key = readIdempotencyKey(report.idempotencyKey);
  const hash = createHash("sha256").update(JSON.stringify(report.entries)).digest();
  const now = ctx.clock.now();
  return withTransaction(ctx.db, async (tx) => {
    const locked = await lockIdempotencyKey(tx, `usage-report:${key}`);
    const [stored] = await tx.sql<{ hash: Buffer; response: string }[]>`
      SELECT request_hash AS hash, response FROM usage_reports
      WHERE key = ${key} AND expires_at >= ${now.toISOString()}::timestamptz`;
    if (stored) {
      if (!stored.hash.equals(hash)) throw reused();
      return { outcome: JSON.parse(stored.response) as IngestUsageOutput, replayed: true };
    }
    if (!locked) throw inProgress();
    const outcome = await addUsage(tx, ctx, report.entries);
    await tx.sql`
      INSERT INTO usage_reports (key, request_hash, response, created_at, expires_at)
      VALUES (${key}, ${hash}, ${JSON.stringify(outcome)}, ${now.toISOString()}::timestamptz,
        ${new Date(now.getTime() + KEY_LIFETIME_MS).toISOString()}::timestamptz)
      ON CONFLICT (key) DO UPDATE SET request_hash = excluded.request_hash, response = excluded.response,
        created_at = excluded.created_at, expires_at = excluded.expires_at`;
    return { outcome, replayed: false };
  });
}

interface Columns {
  ids: string[];
  /** Hours since 1970. */
  hours: number[];
  requests: number[];
  errors: number[];
}

async function addUsage(db: Database, ctx: Context, entries: readonly UsageEntry[]): Promise<IngestUsageOutput> {
  const { columns, refused } = sortOut(entries, ctx.clock.now().getTime());
  const written = columns.ids.length === 0 ? 0 : await add(db, columns);
  return refused.length === 0 ? { written } : { written, refused };
}

function sortOut(entries: readonly UsageEntry[], nowMs: number) {
  const columns: Columns = { ids: [], hours: [], requests: [], errors: [] };
  const refused: { index: number; message: string }[] = [];
  for (const [index, entry] of entries.entries()) {
    const atMs = Date.parse(entry.hour);
    if (atMs < nowMs - MAX_AGE_MS) refused.push({ index, message: "hour is more than 35 days ago." });
    else if (atMs > nowMs + MAX_AHEAD_MS) refused.push({ index, message: "hour is more than 5 minutes ahead." });
    else {
      columns.ids.push(entry.apiKeyId);
      columns.hours.push(Math.floor(atMs / (HOUR_SECONDS * 1_000)));
      columns.requests.push(entry.requests);
      columns.errors.push(entry.errors);
    }
  }
  return { columns, refused };
}

/**
 * One statement for hours and days. Rows are taken in the order of their keys, hours before days, so reports that come
 * at once wait for each other and never in a circle. Counts stop at 2^53 - 1, the largest that JSON carries exactly.
 */
async function add(db: Database, { ids, hours, requests, errors }: Columns): Promise<number> {
  const [row] = await db.sql<{ written: number }[]>`
    WITH known AS MATERIALIZED (
      SELECT e.api_key_id, to_timestamp(e.hour * ${HOUR_SECONDS}::bigint) AS hour, e.requests, e.errors
      FROM unnest(${array(ids)}::text::uuid[], ${array(hours)}::text::bigint[],
        ${array(requests)}::text::bigint[], ${array(errors)}::text::bigint[]) AS e (api_key_id, hour, requests, errors)
      WHERE EXISTS (SELECT 1 FROM api_keys k WHERE k.id = e.api_key_id)
    ), hours AS (
      INSERT INTO api_usage_hours AS u (api_key_id, hour, requests, errors)
      SELECT api_key_id, hour, least(sum(requests), 9007199254740991), least(sum(errors), 9007199254740991)
      FROM known GROUP BY api_key_id, hour ORDER BY api_key_id, hour
      ON CONFLICT (api_key_id, hour) DO UPDATE SET
        requests = least(u.requests + excluded.requests, 9007199254740991),
        errors = least(u.errors + excluded.errors, 9007199254740991)
      RETURNING 1
    ), days AS (
      INSERT INTO api_usage_days AS u (api_key_id, day, requests, errors)
      SELECT api_key_id, (hour AT TIME ZONE 'UTC')::date AS day,
        least(sum(requests), 9007199254740991), least(sum(errors), 9007199254740991)
      FROM known GROUP BY api_key_id, day ORDER BY api_key_id, day
      ON CONFLICT (api_key_id, day) DO UPDATE SET
        requests = least(u.requests + excluded.requests, 9007199254740991),
        errors = least(u.errors + excluded.errors, 9007199254740991)
      RETURNING 1
    )
    -- The conditions are always true; they make the hours come before the days.
    SELECT (SELECT count(*)::int FROM known) AS written
    WHERE (SELECT count(*) FROM hours) >= 0 AND (SELECT count(*) FROM days) >= 0`;
  return row?.written ?? 0;
}

/** An array as one text: cheaper than a parameter whose elements the driver escapes one by one. Nothing to escape here. */
function array(values: readonly (string | number)[]): string {
  return `{${values.join(",")}}`;
}
