import { randomUUID } from "node:crypto";
import { PlatformError } from "@quayside/contracts";
import fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import { asUser } from "../../../../../test/support/actors.ts";
import { openTestServices, type TestServices } from "../../../../../test/support/services.ts";
import type { Context } from "../../platform/context.ts";
import { readPerson } from "../people/read-person.ts";
import { upsertPerson } from "../people/upsert-person.ts";
import { recordTouchpoints } from "../timeline/record-touchpoints.ts";
import { mergePeople } from "./merge-people.ts";
import { undoMerge } from "./undo-merge.ts";

let world: TestServices;
let ctx: Context;
let organizationId: string;

beforeAll(async () => {
  world = await openTestServices();
  ctx = await asUser(world, "owner");
  organizationId = ctx.principal?.organization.id ?? "";
});

afterAll(() => world.close());

const value = fc.oneof(
  fc.string({ maxLength: 5 }),
  fc.integer(),
  fc.boolean(),
  fc.constant({ deep: [1, { b: 2, a: 1 }] }),
);
const text = fc.string({ unit: "grapheme", minLength: 1, maxLength: 8 }).filter((given) => given.trim() === given);
const written = (made: fc.Arbitrary<string>) =>
  fc.option(
    made.filter((given) => given.isWellFormed() && !given.includes("\u0000")),
    { nil: undefined },
  );

/** Few values, so that two people often have the same. */
const somebody = fc.record({
  fields: fc.record(
    {
      name: written(text),
      email: written(fc.constantFrom("ada@acme.com", "Ada@gmail.com", "bob@other.example")),
      domain: written(fc.constantFrom("acme.com", "own.example")),
      tags: fc.uniqueArray(fc.constantFrom<string>("a", "b", "c", "d", "__proto__"), { maxLength: 4 }),
      attributes: fc.dictionary(fc.constantFrom("phone", "title", "__proto__", "constructor", "x"), value),
    },
    { requiredKeys: [] },
  ),
  touches: fc.array(fc.constantFrom("call.held", "email.sent", "made.up"), { maxLength: 4 }),
});
type Somebody = typeof somebody extends fc.Arbitrary<infer T> ? T : never;

const days = fc.integer({ min: 0, max: 90 });
const pass = (count: number) => world.clock.advance(count * 86_400_000);

async function add({ fields, touches }: Somebody): Promise<string> {
  const given = Object.fromEntries(Object.entries(fields).filter(([, field]) => field !== undefined));
  const { person } = await upsertPerson(ctx, { id: randomUUID(), ...given });
  if (touches.length > 0) {
    await recordTouchpoints(ctx, { touchpoints: touches.map((type) => ({ personId: person.id, type })) });
  }
  return person.id;
}

/** Everything that is stored of a person, but for what tells of merges and for what time alone changes. */
async function stored(id: string) {
  const [row] = await ctx.db.sql`
    SELECT id, email, domain, name, tags, attributes, company_id, created_at, engagement, engagement_at, engagement_total
    FROM people WHERE organization_id = ${organizationId} AND id = ${id}`;
  const timeline = await ctx.db.sql`
    SELECT id, type, title, data, occurred_at, weight, merged_from FROM timeline_events
    WHERE organization_id = ${organizationId} AND person_id = ${id}
    AND type NOT IN ('person.merged', 'person.merge_undone', 'person.restored', 'person.updated', 'person.tagged',
      'person.untagged')
    ORDER BY id`;
  return { row, timeline: [...timeline], aliases: await aliasesOf([id]) };
}

async function aliasesOf(ids: readonly string[]) {
  const rows = await ctx.db.sql`
    SELECT email, person_id, merge_id FROM person_email_aliases
    WHERE organization_id = ${organizationId} AND person_id = ANY(${ids as string[]}::uuid[])
    ORDER BY person_id, email`;
  return [...rows];
}

const chosen = fc.option(fc.constantFrom("survivor" as const, "merged" as const), { nil: undefined });
const fields = fc.record({ name: chosen, email: chosen, domain: chosen });

test("a merge that is undone leaves both people and their timelines as they were", async () => {
  await fc.assert(
    fc.asyncProperty(somebody, somebody, fields, days, days, async (one, other, choice, before, after) => {
      const [survivorId, mergedId] = [await add(one), await add(other)];
      const were = [await stored(survivorId), await stored(mergedId)];
      pass(before);
      const { mergeId } = await mergePeople(ctx, { survivorId, mergedId, fields: choice });
      pass(after);
      await undoMerge(ctx, { mergeId });
      expect([await stored(survivorId), await stored(mergedId)]).toEqual(were);
    }),
    { numRuns: 40 },
  );
});

type Step = { kind: "merge" | "touch" | "undo"; i: number; j: number };
const steps = fc.array(
  fc.record<Step>({
    kind: fc.constantFrom("merge", "merge", "touch", "undo"),
    i: fc.nat({ max: 5 }),
    j: fc.nat({ max: 5 }),
  }),
  { maxLength: 14 },
);

/** What is not possible at the moment is refused, and changes nothing. */
async function attempt<T>(work: () => Promise<T>): Promise<T | null> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof PlatformError && ["conflict", "validation_failed"].includes(error.code)) return null;
    throw error;
  }
}

interface Walk {
  ids: string[];
  /** Merges that stand, the newest last. */
  merges: string[];
  /** Touchpoint ids with the id that they were recorded under. */
  touched: Map<string, string>;
}

async function take(walk: Walk, { kind, i, j }: Step): Promise<void> {
  const [one = "", other = ""] = [walk.ids[i], walk.ids[j]];
  if (kind === "touch") {
    const recorded = await recordTouchpoints(ctx, { touchpoints: [{ personId: one, type: "call.held" }] });
    for (const id of recorded.ids) walk.touched.set(id, one);
  } else if (kind === "merge") {
    const merged = await attempt(() => mergePeople(ctx, { survivorId: one, mergedId: other }));
    if (merged) walk.merges.push(merged.mergeId);
  } else {
    const mergeId = walk.merges[(i * 6 + j) % Math.max(walk.merges.length, 1)];
    if (mergeId === undefined) return;
    const undone = await attempt(() => undoMerge(ctx, { mergeId }));
    if (undone) walk.merges = walk.merges.filter((id) => id !== mergeId);
  }
}

async function expectNothingLost({ ids, touched }: Walk): Promise<void> {
  const living = new Map<string, string[]>();
  for (const [index, id] of ids.entries()) {
    const person = await readPerson(ctx, { id });
    expect(person.tags).toContain(`tag${index}`);
    living.set(person.id, [...(living.get(person.id) ?? []), id]);
  }
  const rows = await ctx.db.sql<{ id: string; personId: string }[]>`
    SELECT id, person_id AS "personId" FROM timeline_events
    WHERE organization_id = ${organizationId} AND id = ANY(${[...touched.keys()]}::uuid[])`;
  expect(rows.map(({ id }) => id).sort()).toEqual([...touched.keys()].sort());
  for (const { personId } of rows) expect(living.has(personId)).toBe(true);
}

test("whatever is merged and undone, every id leads to a living person and no event or tag is lost", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(somebody, { minLength: 6, maxLength: 6 }), steps, async (people, path) => {
      const walk: Walk = { ids: [], merges: [], touched: new Map() };
      for (const [index, person] of people.entries()) {
        const tags = [...(person.fields.tags ?? []), `tag${index}`];
        walk.ids.push(await add({ ...person, fields: { ...person.fields, tags } }));
      }
      for (const step of path) {
        await take(walk, step);
        await expectNothingLost(walk);
      }
    }),
    { numRuns: 15 },
  );
});

test("any merges, undone from the newest to the oldest, leave everybody as they were", async () => {
  const merges = fc.array(fc.tuple(fc.nat({ max: 5 }), fc.nat({ max: 5 }), fields), { minLength: 1, maxLength: 12 });
  await fc.assert(
    fc.asyncProperty(fc.array(somebody, { minLength: 6, maxLength: 6 }), merges, async (people, pairs) => {
      const ids: string[] = [];
      for (const person of people) ids.push(await add(person));
      const were = await Promise.all(ids.map(stored));
      const done: { mergeId: string; aliases: unknown }[] = [];
      for (const [i, j, choice] of pairs) {
        const [survivorId = "", mergedId = ""] = [ids[i], ids[j]];
        const aliases = await aliasesOf(ids);
        const merged = await attempt(() => mergePeople(ctx, { survivorId, mergedId, fields: choice }));
        if (merged) done.push({ mergeId: merged.mergeId, aliases });
      }
      for (const { mergeId, aliases } of done.reverse()) {
        await undoMerge(ctx, { mergeId });
        expect(await aliasesOf(ids)).toEqual(aliases);
      }
      expect(await Promise.all(ids.map(stored))).toEqual(were);
    }),
    { numRuns: 20 },
  );
});
