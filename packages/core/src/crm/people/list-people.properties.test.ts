import { listPeopleInput, PERSON_SORTS, type PersonSort } from "@quayside/contracts";
import fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import { asUser } from "../../../../../test/support/actors.ts";
import { openTestServices, type TestServices } from "../../../../../test/support/services.ts";
import type { Context } from "../../platform/context.ts";
import { listPeople } from "./list-people.ts";

const PEOPLE = 70;
/** Few values each, so that most rows share theirs with others and the id has to decide. */
const NAMES = [null, "Ada", "ada", "ADA LOVELACE", "bob", "Z\u00fcrich", "\u{1f600}", "a_b%c\\d", "\u0001"];
const EMAILS = [null, "ada@a.example", "Bob@a.example", "cem@b.example"];
const TAGS = ["x", "y", "it's"];
const CITIES = ["Paris", "London"];
const DAY_MS = 86_400_000;

let world: TestServices;
let owner: Context;
let organizationId: string;

interface Row {
  id: string;
  name: string | null;
  email: string | null;
  score: number;
  tags: string[];
  city: string | null;
}

beforeAll(async () => {
  world = await openTestServices();
  owner = await asUser(world, "owner");
  organizationId = owner.principal?.organization.id ?? "";
  const stranger = await asUser(world, "stranger");
  for (const { principal } of [owner, stranger]) {
    for (let index = 0; index < PEOPLE; index++) await insert(principal?.organization.id ?? "", index);
  }
});

afterAll(() => world.close());

const pick = <T>(values: readonly T[], index: number): T => values[index % values.length] as T;

async function insert(organization: string, index: number, id = world.services.ids.uuid()): Promise<string> {
  // Times differ by microseconds at most, which a Date could not tell apart.
  const at = (part: number) => new Date(DAY_MS + Math.floor(part / 4)).toISOString().replace("Z", `${part % 4}Z`);
  const tags = TAGS.filter((_, bit) => (index >> bit) & 1);
  const attributes = index % 3 === 0 ? {} : { city: pick(CITIES, index) };
  await world.services.db.sql`
    INSERT INTO people (organization_id, id, name, email, score, tags, attributes, created_at, updated_at)
    VALUES (${organization}, ${id}, ${pick(NAMES, index * 7)}, ${pick(EMAILS, index * 5)}, ${(index * 3) % 5}, ${tags},
      ${JSON.stringify(attributes)}::text::jsonb, ${at(index % 6)}::timestamptz, ${at((index * 5) % 7)}::timestamptz)`;
  return id;
}

/** All rows in the order of the sort, as plain SQL has it. */
async function ordered(sort: PersonSort): Promise<Row[]> {
  const column = {
    createdAt: "created_at",
    updatedAt: "updated_at",
    score: "score",
    name: "lower(coalesce(name, ''))",
  };
  const expression = column[sort.replace("-", "") as keyof typeof column];
  const direction = sort.startsWith("-") ? "DESC" : "ASC";
  return world.services.db.sql.unsafe<Row[]>(
    `SELECT id, name, email, score, tags, attributes ->> 'city' AS city FROM people
     WHERE organization_id = $1 ORDER BY ${expression} ${direction}, id ${direction}`,
    [organizationId],
  );
}

const bound = fc.option(fc.oneof(fc.integer({ min: -1, max: 6 }), fc.double({ min: -1, max: 6, noNaN: true })), {
  nil: null,
});
const query = fc.record(
  {
    sort: fc.constantFrom(...PERSON_SORTS),
    limit: fc.constantFrom(1, 2, 3, 7, 69, 70, 71, 200),
    q: fc.constantFrom("a", "ADA", "da l", "_", "%", "\\", "example", "\u00fc", "nothing"),
    filter: fc.record(
      {
        score: fc.record({ gt: bound, lt: bound }, { requiredKeys: [] }),
        tag: fc.constantFrom(...TAGS, "none"),
        email: fc.constantFrom("ADA@A.EXAMPLE", "bob@a.example", "none@a.example"),
        name: fc.constantFrom("ada", "Ada Lovelace", "\u0001"),
        attributes: fc.record({ city: fc.constantFrom(...CITIES) }, { requiredKeys: [] }),
      },
      { requiredKeys: [] },
    ),
  },
  { requiredKeys: ["sort", "limit"] },
);
type Query = typeof query extends fc.Arbitrary<infer T> ? T : never;

/** What the filter means, said once more. */
function matches(row: Row, { filter = {}, q }: Query): boolean {
  const { score, tag, email, name, attributes } = filter;
  const text = `${row.name ?? ""} ${row.email ?? ""}`.toLowerCase();
  return (
    (score?.gt == null || row.score > score.gt) &&
    (score?.lt == null || row.score < score.lt) &&
    (tag === undefined || row.tags.includes(tag)) &&
    (email === undefined || row.email?.toLowerCase() === email.toLowerCase()) &&
    (name === undefined || (row.name ?? "").toLowerCase() === name.toLowerCase()) &&
    (attributes?.city === undefined || row.city === attributes.city) &&
    (q === undefined || text.includes(q.toLowerCase()))
  );
}

async function walk(given: Query, between: () => Promise<void> = async () => {}): Promise<string[]> {
  const ids: string[] = [];
  let cursor: string | undefined;
  do {
    const page = await listPeople(owner, listPeopleInput.parse({ ...given, cursor }));
    expect(page.data.length).toBeLessThanOrEqual(given.limit);
    ids.push(...page.data.map(({ id }) => id));
    if (page.next_cursor !== null) expect(page.data).toHaveLength(given.limit);
    cursor = page.next_cursor ?? undefined;
    await between();
  } while (cursor !== undefined);
  return ids;
}

test("a walk with any sort, filter and limit gives exactly the rows of the plain query, in its order", async () => {
  await fc.assert(
    fc.asyncProperty(query, async (given) => {
      const expected = (await ordered(given.sort)).filter((row) => matches(row, given)).map(({ id }) => id);
      expect(await walk(given)).toEqual(expected);
    }),
    { numRuns: 150 },
  );
});

test("rows that stay as they are come once and in order, whatever comes and goes between the pages", async () => {
  const changes = fc.array(fc.nat({ max: 200 }), { minLength: 1, maxLength: 20 });
  const limits = fc.constantFrom<Query["limit"]>(1, 3, 7);
  await fc.assert(
    fc.asyncProperty(fc.constantFrom(...PERSON_SORTS), limits, changes, async (sort, limit, steps) => {
      const stable = (await ordered(sort)).map(({ id }) => id);
      const passing: string[] = [];
      const pending = [...steps];
      const walked = await walk({ sort, limit }, async () => {
        const step = pending.shift();
        if (step === undefined) return;
        if (step % 3 === 0 && passing.length > 0) {
          await world.services.db
            .sql`DELETE FROM people WHERE organization_id = ${organizationId} AND id = ${passing.pop() ?? ""}`;
        } else passing.push(await insert(organizationId, step));
      });
      await world.services.db
        .sql`DELETE FROM people WHERE organization_id = ${organizationId} AND NOT id = ANY(${stable}::uuid[])`;
      const known = new Set(stable);
      expect(walked.filter((id) => known.has(id))).toEqual(stable);
      expect(new Set(walked).size).toBe(walked.length);
    }),
    { numRuns: 30 },
  );
});
