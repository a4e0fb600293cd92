import { randomUUID } from "node:crypto";
import type { UpsertPersonInput } from "@quayside/contracts";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { asUser } from "../../../../../test/support/actors.ts";
import { openTestServices, type TestServices } from "../../../../../test/support/services.ts";
import type { Context } from "../../platform/context.ts";
import { bulkPeople } from "../people/bulk-people.ts";
import { deletePerson } from "../people/delete-person.ts";
import { readPerson } from "../people/read-person.ts";
import { updatePerson } from "../people/update-person.ts";
import { upsertPerson } from "../people/upsert-person.ts";
import { explainScore } from "../score/explain-score.ts";
import { readTimeline } from "../timeline/read-timeline.ts";
import { recordTouchpoints } from "../timeline/record-touchpoints.ts";
import { dismissDuplicate } from "./dismiss-duplicate.ts";
import { listMerges } from "./list-merges.ts";
import { mergePeople } from "./merge-people.ts";
import { undoMerge } from "./undo-merge.ts";

const DAY_MS = 86_400_000;

let world: TestServices;
let ctx: Context;
let organizationId: string;
let users = 0;

beforeAll(async () => {
  world = await openTestServices();
});

beforeEach(async () => {
  ctx = await asUser(world, `merger${++users}`);
  organizationId = ctx.principal?.organization.id ?? "";
});

afterAll(() => world.close());

async function add(fields: Omit<UpsertPersonInput, "id"> = {}): Promise<string> {
  const { person } = await upsertPerson(ctx, { id: randomUUID(), ...fields });
  return person.id;
}

const merge = (survivorId: string, mergedId: string, fields = {}) => mergePeople(ctx, { survivorId, mergedId, fields });
const read = (id: string) => readPerson(ctx, { id });
const typesOf = async (id: string) => (await readTimeline(ctx, { id, limit: 200 })).map(({ type }) => type).sort();
const touch = async (personId: string, type: string) =>
  (await recordTouchpoints(ctx, { touchpoints: [{ personId, type }] })).ids[0] ?? "";
const origins = async () => {
  const rows = await ctx.db.sql<{ type: string; personId: string; mergedFrom: string | null }[]>`
    SELECT type, person_id AS "personId", merged_from AS "mergedFrom" FROM timeline_events
    WHERE organization_id = ${organizationId} AND weight IS NOT NULL`;
  return new Map(rows.map(({ type, personId, mergedFrom }) => [type, { personId, mergedFrom }]));
};

async function listen(): Promise<() => Promise<{ type: string; data: Record<string, unknown> }[]>> {
  await ctx.db.sql`
    INSERT INTO webhook_endpoints (id, organization_id, area, name, url, events, status, secret)
    SELECT ${randomUUID()}, ${organizationId}, 'crm', 'listener', 'https://hooks.example', ARRAY['*'], 'enabled', '\\x00'`;
  return async () => [
    ...(await ctx.db.sql<{ type: string; data: Record<string, unknown> }[]>`
      DELETE FROM webhook_events WHERE organization_id = ${organizationId} RETURNING type, data`),
  ];
}

describe("the survivor", () => {
  test("keeps its values and takes those that it lacks", async () => {
    const survivor = await add({ name: "Ada Lovelace", tags: ["a", "b"], attributes: { phone: "1", city: "London" } });
    const merged = await add({
      name: "A. Lovelace",
      email: "ada@acme.com",
      tags: ["b", "c"],
      attributes: { phone: "2", title: "Countess" },
    });
    const { person } = await merge(survivor, merged);
    expect(person).toMatchObject({
      id: survivor,
      name: "Ada Lovelace",
      email: "ada@acme.com",
      domain: "acme.com",
      tags: ["a", "b", "c"],
      attributes: { phone: "1", city: "London", title: "Countess" },
    });
    expect(person.companyId).not.toBeNull();
    expect(await read(survivor)).toEqual(person);
  });

  test("takes the fields of the other that are asked for", async () => {
    const survivor = await add({ name: "Ada", email: "ada@acme.com" });
    const merged = await add({ name: "Augusta", email: "augusta@byron.example" });
    const { person } = await merge(survivor, merged, { name: "merged", domain: "merged" });
    expect(person).toMatchObject({ name: "Augusta", email: "ada@acme.com", domain: "byron.example" });
    expect(person.companyId).not.toBeNull();
  });

  test("keeps what it has where the other has nothing, whatever is asked for", async () => {
    const survivor = await add({ name: "Ada", email: "ada@acme.com" });
    const { person } = await merge(survivor, await add({}), { name: "merged", email: "merged", domain: "merged" });
    expect(person).toMatchObject({ name: "Ada", email: "ada@acme.com", domain: "acme.com" });
  });

  test("has the earlier creation, whichever of the two is older", async () => {
    const first = await add({ name: "First" });
    const { createdAt } = await read(first);
    world.clock.advance(DAY_MS);
    const second = await add({ name: "Second" });
    world.clock.advance(DAY_MS);
    const { person } = await merge(second, first);
    expect(person.createdAt).toBe(createdAt);
    expect(person.updatedAt).toBe(world.clock.now().toISOString());
    expect(await read(second)).toEqual(person);
  });

  test("has at most 100 tags, its own first", async () => {
    const tags = (prefix: string, count: number) => Array.from({ length: count }, (_, i) => `${prefix}${i}`);
    const survivor = await add({ tags: tags("s", 60) });
    const { person } = await merge(survivor, await add({ tags: tags("m", 60) }));
    expect(person.tags).toEqual([...tags("s", 60), ...tags("m", 40)]);
  });

  test("never gets more attributes than a person may have", async () => {
    const attributes = (prefix: string) => Object.fromEntries(Array.from({ length: 150 }, (_, i) => [prefix + i, i]));
    const [survivor, merged] = [await add({ attributes: attributes("s") }), await add({ attributes: attributes("m") })];
    await expect(merge(survivor, merged)).rejects.toMatchObject({ code: "validation_failed" });
    expect((await read(merged)).id).toBe(merged);
  });

  test("has the engagement of both, decayed to the moment, and is scored anew", async () => {
    const [survivor, merged] = [await add({ name: "S" }), await add({ name: "M" })];
    await touch(survivor, "meeting.held");
    world.clock.advance(30 * DAY_MS);
    await touch(merged, "call.held");
    world.clock.advance(30 * DAY_MS);
    const before = (await explainScore(ctx, { id: survivor })).score;
    const { person } = await merge(survivor, merged);
    const [row] = await ctx.db.sql`
      SELECT engagement, engagement_total FROM people WHERE organization_id = ${organizationId} AND id = ${survivor}`;
    expect(row?.engagement).toBeCloseTo(10 / 4 + 8 / 2, 9);
    expect(row?.engagement_total).toBe(18);
    expect(person.score).toBeGreaterThan(before);
  });

  test("tells of the merge in its timeline, the audit and one event person.updated", async () => {
    const [survivor, merged] = [await add({ name: "Same" }), await add({ name: "Same" })];
    const events = await listen();
    const { mergeId, person } = await merge(survivor, merged);
    const timeline = await readTimeline(ctx, { id: survivor, limit: 10 });
    expect(timeline.find(({ type }) => type === "person.merged")).toMatchObject({
      title: "Merged with Same",
      data: { mergeId, person: { id: merged, name: "Same", email: null } },
    });
    expect(await events()).toEqual([{ type: "person.updated", data: { person, changed: [] } }]);
    const [audit] = await ctx.db.sql`SELECT actor, details FROM audit_events WHERE target = ${`person:${survivor}`}`;
    expect(audit).toEqual({ actor: `user:merger${users}`, details: { mergeId, mergedId: merged } });
  });

  test("tells once what changed when fields changed", async () => {
    const [survivor, merged] = [await add({}), await add({ name: "New", tags: ["t"] })];
    const events = await listen();
    await merge(survivor, merged);
    const told = (await events()).map(({ type, data }) => [type, data.changed ?? data.tags ?? null]);
    expect(told).toEqual([
      ["person.updated", ["name"]],
      ["person.tagged", ["t"]],
      ["person.score_changed", null],
    ]);
  });
});

describe("the merged person", () => {
  test("is gone, and its id means the survivor everywhere", async () => {
    const [survivor, merged] = [await add({ name: "S" }), await add({ name: "M" })];
    await merge(survivor, merged);
    expect((await read(merged)).id).toBe(survivor);
    expect((await updatePerson(ctx, { id: merged, name: "Renamed" })).id).toBe(survivor);
    const upserted = await upsertPerson(ctx, { id: merged, tags: ["x"] });
    expect([upserted.created, upserted.person.id, upserted.person.name]).toEqual([false, survivor, "Renamed"]);
    const bulk = await bulkPeople(ctx, { operations: [{ op: "tag", personId: merged, tag: "y" }] });
    expect(bulk.results).toEqual([{ index: 0, op: "tag", ok: true, personId: survivor }]);
    await touch(merged, "email.opened");
    expect(await typesOf(merged)).toEqual(await typesOf(survivor));
    expect((await read(survivor)).tags).toEqual(["x", "y"]);
    expect(await ctx.db.sql`SELECT 1 FROM people WHERE id = ${merged}`).toHaveLength(0);
  });

  test("of a chain leads to its end in one step", async () => {
    const [a, b, c] = [await add({}), await add({}), await add({})];
    await merge(b, a);
    await merge(c, b);
    const rows = await ctx.db.sql<{ id: string; to: string }[]>`
      SELECT id, person_id AS to FROM person_redirects WHERE organization_id = ${organizationId}`;
    expect(new Map(rows.map(({ id, to }) => [id, to]))).toEqual(new Map([a, b].map((id) => [id, c])));
    expect((await read(a)).id).toBe(c);
  });

  test("gives its timeline to the survivor, each event with its first origin", async () => {
    const [a, b, c] = [await add({}), await add({}), await add({})];
    await touch(a, "a.one");
    await touch(b, "b.one");
    await merge(b, a);
    await touch(a, "b.two");
    await merge(c, b);
    expect(await origins()).toEqual(
      new Map([
        ["a.one", { personId: c, mergedFrom: a }],
        ["b.one", { personId: c, mergedFrom: b }],
        ["b.two", { personId: c, mergedFrom: b }],
      ]),
    );
  });

  test("of a chain is deleted with its survivor, whichever id is named", async () => {
    const [a, b, c] = [await add({}), await add({}), await add({})];
    await merge(b, a);
    await merge(c, b);
    await deletePerson(ctx, { id: a });
    for (const id of [a, b, c]) {
      await expect(read(id)).rejects.toMatchObject({ code: "not_found" });
      await expect(deletePerson(ctx, { id })).rejects.toMatchObject({ code: "not_found" });
    }
    const rows = await ctx.db.sql`
      SELECT target FROM audit_events WHERE organization_id = ${organizationId} AND action = 'person.deleted'`;
    expect([...rows]).toEqual([{ target: `person:${c}` }]);
    expect(await ctx.db.sql`SELECT 1 FROM person_merges WHERE organization_id = ${organizationId}`).toHaveLength(0);
  });

  test("takes its dismissals with it", async () => {
    const [a, b, c] = [await add({}), await add({}), await add({})];
    await dismissDuplicate(ctx, { firstId: a, secondId: b });
    await dismissDuplicate(ctx, { firstId: b, secondId: c });
    await dismissDuplicate(ctx, { firstId: a, secondId: c });
    await merge(a, b);
    const rows = await ctx.db.sql`
      SELECT first_id, second_id FROM duplicate_dismissals WHERE organization_id = ${organizationId}`;
    const [first, second] = [a, c].sort();
    expect([...rows]).toEqual([{ first_id: first, second_id: second }]);
  });

  test("leaves nothing behind when the survivor of a chain is deleted", async () => {
    const [a, b, c] = [await add({ email: "a@x.example" }), await add({ email: "b@x.example" }), await add({})];
    await merge(b, a);
    await merge(c, b);
    await deletePerson(ctx, { id: c });
    for (const table of ["person_merges", "person_redirects", "person_email_aliases", "timeline_events", "people"]) {
      const rows = await ctx.db.sql.unsafe(`SELECT 1 FROM ${table} WHERE organization_id = $1`, [organizationId]);
      expect([table, rows.length]).toEqual([table, 0]);
    }
  });
});

describe("a merge is refused", () => {
  test("for one person twice", async () => {
    const id = await add({});
    await expect(merge(id, id)).rejects.toMatchObject({
      code: "validation_failed",
      details: { issues: [{ field: "mergedId" }] },
    });
  });

  test("for somebody who is not there, or is another organization's", async () => {
    const id = await add({});
    const stranger = await asUser(world, `stranger${users}`);
    const { person } = await upsertPerson(stranger, { id: randomUUID(), name: "Theirs" });
    for (const unknown of [randomUUID(), person.id]) {
      await expect(merge(id, unknown)).rejects.toMatchObject({ code: "not_found" });
      await expect(merge(unknown, id)).rejects.toMatchObject({ code: "not_found" });
    }
    expect((await readPerson(stranger, { id: person.id })).name).toBe("Theirs");
  });

  test("for somebody who was merged already, naming into whom", async () => {
    const [a, b, c] = [await add({}), await add({}), await add({})];
    await merge(a, b);
    for (const [survivor, merged] of [
      [a, b],
      [b, a],
      [c, b],
      [b, c],
    ] as const) {
      await expect(merge(survivor, merged)).rejects.toMatchObject({
        code: "conflict",
        message: `The person ${b} was merged into ${a}.`,
      });
    }
  });

  test("without the scope", async () => {
    const { principal } = ctx;
    if (!principal) throw new Error("Nobody is signed in.");
    const reader = { ...ctx, principal: { ...principal, scopes: new Set(["read"] as const) } };
    const ids = { survivorId: randomUUID(), mergedId: randomUUID() };
    await expect(mergePeople(reader, ids)).rejects.toMatchObject({ code: "insufficient_scope" });
    await expect(undoMerge(reader, { mergeId: randomUUID() })).rejects.toMatchObject({ code: "insufficient_scope" });
  });
});

describe("undoing a merge", () => {
  test("leaves what was changed of the survivor since", async () => {
    const survivor = await add({ attributes: { own: 1 } });
    const merged = await add({ name: "M", email: "m@acme.com", tags: ["m", "n"], attributes: { kept: 1, changed: 1 } });
    const { mergeId } = await merge(survivor, merged);
    await updatePerson(ctx, {
      id: survivor,
      name: "Renamed",
      tags: ["n", "since"],
      attributes: { changed: 2, new: 3 },
    });
    const undone = await undoMerge(ctx, { mergeId });
    expect(undone.survivor).toMatchObject({
      name: "Renamed",
      email: null,
      domain: null,
      companyId: null,
      tags: ["since"],
      attributes: { own: 1, changed: 2, new: 3 },
    });
    expect(undone.restored).toMatchObject({ id: merged, name: "M", email: "m@acme.com", domain: "acme.com" });
    expect(await read(merged)).toEqual(undone.restored);
    expect(await read(survivor)).toEqual(undone.survivor);
  });

  test("leaves touchpoints that came since with the survivor, and takes back the merged person's engagement", async () => {
    const [survivor, merged] = [await add({}), await add({})];
    await touch(survivor, "meeting.held");
    await touch(merged, "call.held");
    const { mergeId } = await merge(survivor, merged);
    world.clock.advance(30 * DAY_MS);
    await touch(merged, "form.submitted");
    await undoMerge(ctx, { mergeId });
    const rows = await ctx.db.sql`
      SELECT id, engagement, engagement_total FROM people WHERE organization_id = ${organizationId}`;
    const byId = new Map(rows.map((row) => [row.id, row]));
    expect(byId.get(survivor)?.engagement).toBeCloseTo(10 / 2 + 6, 9);
    expect(byId.get(survivor)?.engagement_total).toBe(16);
    expect(byId.get(merged)?.engagement_total).toBe(8);
    expect(await origins()).toEqual(
      new Map([
        ["meeting.held", { personId: survivor, mergedFrom: null }],
        ["call.held", { personId: merged, mergedFrom: null }],
        ["form.submitted", { personId: survivor, mergedFrom: null }],
      ]),
    );
  });

  test("of a chain gives back each person's own, one after the other", async () => {
    const [a, b, c] = [await add({}), await add({}), await add({})];
    await touch(a, "a.one");
    await touch(b, "b.one");
    const first = await merge(b, a);
    const second = await merge(c, b);
    await expect(undoMerge(ctx, first)).rejects.toMatchObject({
      code: "conflict",
      message: `The person ${b} was merged into ${c}; undo that merge first.`,
    });
    await undoMerge(ctx, second);
    expect([(await read(a)).id, (await read(b)).id]).toEqual([b, b]);
    expect((await origins()).get("a.one")).toEqual({ personId: b, mergedFrom: a });
    expect((await origins()).get("b.one")).toEqual({ personId: b, mergedFrom: null });
    await undoMerge(ctx, first);
    expect((await read(a)).id).toBe(a);
    expect((await origins()).get("a.one")).toEqual({ personId: a, mergedFrom: null });
  });

  test("begins with the newest of one survivor, though the clock stands still", async () => {
    const [a, b, c] = [await add({}), await add({}), await add({})];
    const first = await merge(a, b);
    const second = await merge(a, c);
    await expect(undoMerge(ctx, first)).rejects.toMatchObject({
      code: "conflict",
      message: `The merge ${second.mergeId} into the same person is newer; undo it first.`,
    });
    await undoMerge(ctx, second);
    await undoMerge(ctx, first);
    expect([(await read(b)).id, (await read(c)).id]).toEqual([b, c]);
  });

  test("happens once", async () => {
    const { mergeId } = await merge(await add({}), await add({}));
    await undoMerge(ctx, { mergeId });
    await expect(undoMerge(ctx, { mergeId })).rejects.toMatchObject({
      code: "conflict",
      message: "This merge was undone already.",
    });
  });

  test("is refused when the id is another person's now", async () => {
    const merged = await add({});
    const { mergeId } = await merge(await add({}), merged);
    await ctx.db.sql`INSERT INTO people (organization_id, id) VALUES (${organizationId}, ${merged})`;
    await expect(undoMerge(ctx, { mergeId })).rejects.toMatchObject({ code: "conflict" });
  });

  test("of an unknown merge, another organization's or a deleted person's is not found", async () => {
    const survivor = await add({});
    const { mergeId } = await merge(survivor, await add({}));
    const stranger = await asUser(world, `undoer${users}`);
    await expect(undoMerge(stranger, { mergeId })).rejects.toMatchObject({ code: "not_found" });
    await deletePerson(ctx, { id: survivor });
    await expect(undoMerge(ctx, { mergeId })).rejects.toMatchObject({ code: "not_found" });
    await expect(undoMerge(ctx, { mergeId: randomUUID() })).rejects.toMatchObject({ code: "not_found" });
  });

  test("restores a person whose company was deleted meanwhile", async () => {
    const survivor = await add({ email: "s@acme.com" });
    const { mergeId } = await merge(survivor, await add({ email: "m@gone.example" }));
    await ctx.db.sql`DELETE FROM companies WHERE organization_id = ${organizationId} AND domain = 'gone.example'`;
    const { restored } = await undoMerge(ctx, { mergeId });
    // Its domain makes the company anew, as for any change of a person.
    const [company] = await ctx.db.sql`
      SELECT id FROM companies WHERE organization_id = ${organizationId} AND domain = 'gone.example'`;
    expect(restored).toMatchObject({ email: "m@gone.example", domain: "gone.example", companyId: company?.id });
  });

  test("tells of it in both timelines, the audit and events", async () => {
    const [survivor, merged] = [await add({ name: "S" }), await add({ name: "M" })];
    const { mergeId } = await merge(survivor, merged);
    const events = await listen();
    const undone = await undoMerge(ctx, { mergeId });
    expect((await events()).map(({ type, data }) => [type, (data.person as { id: string }).id])).toEqual([
      ["person.updated", survivor],
      ["person.created", merged],
    ]);
    expect(await typesOf(survivor)).toEqual(["person.created", "person.merge_undone", "person.merged"]);
    expect(await typesOf(merged)).toEqual(["person.created", "person.restored"]);
    expect(undone.restored.updatedAt).not.toBeNull();
    const rows = await ctx.db.sql`
      SELECT action FROM audit_events WHERE target = ${`person:${survivor}`} ORDER BY id`;
    expect(rows.map(({ action }) => action)).toEqual(["person.merged", "person.merge_undone"]);
  });
});

describe("the merges of a person", () => {
  test("are listed with those of the people merged into it, the newest first", async () => {
    const [a, b, c] = [await add({ name: "A", email: "a@x.example" }), await add({ name: "B" }), await add({})];
    const first = await merge(b, a);
    world.clock.advance(1_000);
    const second = await merge(c, b);
    const merges = await listMerges(ctx, { personId: a, limit: 50 });
    expect(merges.map(({ id, mergedName }) => [id, mergedName])).toEqual([
      [second.mergeId, "B"],
      [first.mergeId, "A"],
    ]);
    expect(merges[1]).toMatchObject({
      ...{ survivorId: b, mergedId: a, mergedEmail: "a@x.example", actor: `user:merger${users}`, undoneAt: null },
    });
    await undoMerge(ctx, second);
    expect(await listMerges(ctx, { personId: c, limit: 50 })).toEqual([
      { ...merges[0], undoneAt: world.clock.now().toISOString() },
    ]);
    expect(await listMerges(ctx, { personId: c, limit: 50 })).toHaveLength(1);
    await expect(listMerges(ctx, { personId: randomUUID(), limit: 50 })).rejects.toMatchObject({ code: "not_found" });
  });
});
