import { type LogEntry, PlatformError } from "@quayside/contracts";
import { requireCaller } from "../../platform/authorize.ts";
import type { Context } from "../../platform/context.ts";
import { logChannel } from "../fleet/channels.ts";
import { findDeployment } from "./find-deployment.ts";
import { parseSince } from "./since.ts";

export interface LogRow extends LogEntry {
  id: number;
}

export interface LogQuery {
  id: string;
  component?: string | undefined;
  since: string;
  follow: boolean;
  lastEventId?: string | undefined;
}

const PAGE_ROWS = 1_000;
const MAX_ROWS = 100_000;

/**
 * The captured lines of a deployment, oldest first: those since a time, or after `lastEventId`; with `follow` new ones
 * until the reader leaves. Without it at most 100,000. Errors: `not_found`, `invalid_request` for a bad `since`,
 * `source_missing` (422) when the deployment has no repository.
 */
export async function readLogs(ctx: Context, input: LogQuery, signal: AbortSignal): Promise<AsyncGenerator<LogRow>> {
  const { organization } = requireCaller(ctx, "read");
  const since = parseSince(input.since, ctx.clock.now());
  if (!since) {
    throw new PlatformError(
      "invalid_request",
      "since must be like '90s', '10m', '2h' or '1d', or an RFC 3339 date-time.",
    );
  }
  const deployment = await findDeployment(ctx.db, organization.id, input.id);
  if (!deployment.resolvedBuildConfig?.repo) {
    throw new PlatformError("source_missing", `Deployment ${input.id} has no repository, so it has no logs here.`);
  }
  const start = input.lastEventId === undefined ? await cursorSince(ctx, input.id, since) : Number(input.lastEventId);
  const read = (afterId: number, limit: number) => readLines(ctx, input.id, afterId, limit);
  const rows = input.follow
    ? ctx.feeds.follow({ channel: logChannel(input.id), read, latest: () => latestLine(ctx, input.id) }, start, signal)
    : readAll(read, start);
  return ofComponent(rows, input.component, signal);
}

async function* ofComponent(
  rows: AsyncGenerator<LogRow>,
  component: string | undefined,
  signal: AbortSignal,
): AsyncGenerator<LogRow> {
  for await (const row of rows) {
    if (signal.aborted) return;
    if (component === undefined || row.component === component) yield row;
  }
}

async function* readAll(
  read: (afterId: number, limit: number) => Promise<LogRow[]>,
  start: number,
): AsyncGenerator<LogRow> {
  let cursor = start;
  for (let count = 0; count < MAX_ROWS; count += PAGE_ROWS) {
    const rows = await read(cursor, PAGE_ROWS);
    yield* rows;
    cursor = rows.at(-1)?.id ?? cursor;
    if (rows.length < PAGE_ROWS) return;
  }
}

async function readLines(ctx: Context, deploymentId: string, afterId: number, limit: number): Promise<LogRow[]> {
  const rows = await ctx.db.sql<
    { id: string; at: number; component: string; stream: LogEntry["stream"]; line: string }[]
  >`
    SELECT id, (extract(epoch FROM at) * 1000)::float8 AS at, component, stream, line FROM deployment_log_lines
    WHERE deployment_id = ${deploymentId} AND id > ${afterId} ORDER BY id LIMIT ${limit}`;
  return rows.map((row) => ({ ...row, id: Number(row.id), at: new Date(row.at).toISOString() }));
}

async function latestLine(ctx: Context, deploymentId: string): Promise<number> {
  const [row] = await ctx.db.sql<{ id: string | null }[]>`
    SELECT max(id) AS id FROM deployment_log_lines WHERE deployment_id = ${deploymentId}`;
  return Number(row?.id ?? 0);
}

/** The id just before the first line at or after a time. */
async function cursorSince(ctx: Context, deploymentId: string, since: Date): Promise<number> {
  const [row] = await ctx.db.sql<{ id: string | null }[]>`
    SELECT id FROM deployment_log_lines WHERE deployment_id = ${deploymentId} AND at >= ${since.toISOString()}::timestamptz
    ORDER BY at, id LIMIT 1`;
  return row?.id == null ? await latestLine(ctx, deploymentId) : Number(row.id) - 1;
}
