import type { ListPeopleInput, PersonSort, SparsePerson } from "@quayside/contracts";
import { requireCaller } from "../../platform/authorize.ts";
import type { Context } from "../../platform/context.ts";
import { openCursor, sealCursor } from "../../platform/cursors.ts";
import { normalizeDomain } from "./mail-domains.ts";
import { type PersonRow, pickFields, RECORD_COLUMNS, toPersonRecord } from "./person-state.ts";

export interface Page<T> {
  data: T[];
  next_cursor: string | null;
}

/** Each order has an index of its own, with the id behind it. `type` is what the cursor's text is cast to. */
const ORDERS: Readonly<Record<string, { expression: string; type: string }>> = {
  createdAt: { expression: "created_at", type: "timestamptz" },
  updatedAt: { expression: "updated_at", type: "timestamptz" },
  score: { expression: "score", type: "int" },
  name: { expression: "lower(coalesce(name, ''))", type: "text" },
};

/** As in the index: both sides must say it the same way. */
const SEARCHED_TEXT = "lower(coalesce(name, '') || ' ' || coalesce(email, ''))";

/**
 * A page of the organization's people, by keyset: page 1,000 costs what page 1 costs. The cursor belongs to the sort
 * and filter that it came from. Errors: `invalid_cursor`.
 */
export async function listPeople(ctx: Context, input: ListPeopleInput): Promise<Page<SparsePerson>> {
  const { organization } = requireCaller(ctx, "read");
  const { sort, filter, q } = input;
  const binding = { organizationId: organization.id, list: "people", query: { sort, filter, q } };
  const { expression, type, descending } = orderOf(sort);
  const query = new Conditions(organization.id);
  addFilters(query, input);
  if (input.cursor !== undefined) {
    const [value = "", id = ""] = openCursor(ctx, binding, input.cursor);
    const position = `(${query.bind(fromBase64(value))}::${type}, ${query.bind(id)}::uuid)`;
    query.add(`(${expression}, id) ${descending ? "<" : ">"} ${position}`);
  }
  const order = `${expression} ${descending ? "DESC" : "ASC"}, id ${descending ? "DESC" : "ASC"}`;
  // The page is cut first, so that the columns are worked out for its rows only.
  const text = `SELECT ${RECORD_COLUMNS}, (${expression})::text AS "sortValue" FROM (
      SELECT * FROM people WHERE ${query.text} ORDER BY ${order} LIMIT ${query.bind(input.limit + 1)}
    ) AS people ORDER BY ${order}`;
  // Not prepared: a plan that must do for every value of a filter would be slow for some of them.
  const rows = await ctx.db.sql.unsafe<(PersonRow & { sortValue: string })[]>(text, query.values);
  const page = rows.slice(0, input.limit);
  const last = page.at(-1);
  return {
    data: page.map((row) => pickFields(toPersonRecord(row), input.fields)),
    next_cursor:
      last && rows.length > page.length ? sealCursor(ctx, binding, [toBase64(last.sortValue), last.id]) : null,
  };
}

// In JSON a name of control characters would be six times as long, and its cursor longer than a cursor may be.
const toBase64 = (text: string) => Buffer.from(text).toString("base64");
const fromBase64 = (text: string) => Buffer.from(text, "base64").toString();

function orderOf(sort: PersonSort) {
  const descending = sort.startsWith("-");
  const order = ORDERS[descending ? sort.slice(1) : sort];
  if (!order) throw new Error(`There is no order for the sort ${sort}.`);
  return { ...order, descending };
}

/** Conditions of a statement, with the values that are bound to it. */
class Conditions {
  readonly values: (string | number | string[])[] = [];
  readonly #parts: string[] = [];

  constructor(organizationId: string) {
    this.add(`organization_id = ${this.bind(organizationId)}::uuid`);
  }

  bind(value: string | number | string[]): string {
    this.values.push(value);
    return `$${this.values.length}`;
  }

  add(condition: string): void {
    this.#parts.push(condition);
  }

  get text(): string {
    return this.#parts.join(" AND ");
  }
}

function addFilters(query: Conditions, { filter = {}, q }: ListPeopleInput): void {
  const { score, tag, company_id, email, domain, name, attributes } = filter;
  if (score?.gt != null) query.add(`score > ${query.bind(nearScore(Math.floor(score.gt)))}::int`);
  if (score?.lt != null) query.add(`score < ${query.bind(nearScore(Math.ceil(score.lt)))}::int`);
  if (tag !== undefined) query.add(`tags @> ARRAY[${query.bind(tag)}::text]`);
  if (company_id !== undefined) query.add(`company_id = ${query.bind(company_id)}::uuid`);
  if (email !== undefined) query.add(`email IS NOT NULL AND lower(email) = lower(${query.bind(email)}::text)`);
  if (domain !== undefined) query.add(`domain = ${query.bind(normalizeDomain(domain) ?? domain)}::text`);
  if (name !== undefined) query.add(`lower(coalesce(name, '')) = lower(${query.bind(name)}::text)`);
  if (attributes !== undefined) query.add(`attributes @> ${query.bind(JSON.stringify(attributes))}::text::jsonb`);
  if (q !== undefined) query.add(`${SEARCHED_TEXT} LIKE lower(${query.bind(likePattern(q))}::text)`);
}

/** A bound means the same as the nearest one just outside of 0 to 100, which every integer column can be compared to. */
function nearScore(bound: number): number {
  return Math.min(Math.max(bound, -1), 101);
}

/** The text anywhere, with its wildcards taken literally. PostgreSQL makes it lower case, in its own way on both sides. */
function likePattern(text: string): string {
  return `%${text.replace(/[\\%_]/g, "\\$&")}%`;
}
