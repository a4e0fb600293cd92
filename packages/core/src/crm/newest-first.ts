import type { Context } from "../platform/context.ts";
import { openCursor, sealCursor } from "../platform/cursors.ts";

/** A list of an organization's rows, newest first. */
export interface NewestFirst {
  organizationId: string;
  table: "companies" | "campaigns";
  /** What to select, as SQL. */
  columns: string;
  /** The SQL expression that the table's trigram index is on, word for word. */
  text: string;
  /** Part of `text`; case does not matter. */
  q?: string | undefined;
  status?: string | undefined;
  limit: number;
  cursor?: string | undefined;
}

interface Positioned {
  id: string;
  /** `created_at` with its microseconds, which a Date would lose. */
  position: string;
}

/**
 * One page, and the cursor of the next or null. Cursors are bound to the organization, the table and the filter; any
 * other is `invalid_cursor` (422).
 */
export async function pageNewestFirst<Row extends { id: string }>(
  ctx: Context,
  list: NewestFirst,
): Promise<{ rows: Row[]; nextCursor: string | null }> {
  const { organizationId, table, q, status, limit } = list;
  const binding = { organizationId, list: table, query: { q: q ?? null, status: status ?? null } };
  const values: (string | number)[] = [organizationId, limit + 1];
  const parameter = (value: string) => `$${values.push(value)}`;
  const conditions = ["organization_id = $1"];
  if (status !== undefined) conditions.push(`status = ${parameter(status)}`);
  if (q !== undefined) conditions.push(`${list.text} LIKE lower(${parameter(`%${escapeLike(q)}%`)})`);
  if (list.cursor !== undefined) {
    const [position = "", id = ""] = openCursor(ctx, binding, list.cursor);
    conditions.push(`(created_at, id) < (${parameter(position)}::timestamptz, ${parameter(id)}::uuid)`);
  }
  const rows = await ctx.db.sql.unsafe<(Row & Positioned)[]>(
    `SELECT ${list.columns}, created_at::text AS position FROM ${table}
     WHERE ${conditions.join(" AND ")} ORDER BY created_at DESC, id DESC LIMIT $2`,
    values,
    // With a text the plan depends on how common it is: the trigram index for a rare one, the order's for a common one.
    { prepare: q === undefined },
  );
  const page = rows.slice(0, limit);
  const last = page.at(-1);
  const more = rows.length > limit && last !== undefined;
  return { rows: page, nextCursor: more ? sealCursor(ctx, binding, [last.position, last.id]) : null };
}

/** The text as LIKE finds it and nothing else. */
function escapeLike(text: string): string {
  return text.replace(/[\\%_]/g, "\\$&");
}
