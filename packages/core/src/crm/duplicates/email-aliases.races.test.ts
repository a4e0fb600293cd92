import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "vitest";
import { asUser } from "../../../../../test/support/actors.ts";
import { holdLock, waitingSessions } from "../../../../../test/support/held-lock.ts";
import { openTestServices, type TestServices } from "../../../../../test/support/services.ts";
import { connectTo } from "../../../../../test/support/sql.ts";
import type { Context } from "../../platform/context.ts";
import { bulkPeople } from "../people/bulk-people.ts";
import { readPerson } from "../people/read-person.ts";
import { upsertPerson } from "../people/upsert-person.ts";
import { mergePeople } from "./merge-people.ts";
import { undoMerge } from "./undo-merge.ts";

const ROUNDS = 12;

let world: TestServices;
let ctx: Context;
let sql: ReturnType<typeof connectTo>;
let chains = 0;

beforeAll(async () => {
  world = await openTestServices();
  ctx = await asUser(world, "racer");
  sql = connectTo(world.url);
});

afterAll(async () => {
  await sql?.end();
  await world?.close();
});

const merge = (survivorId: string, mergedId: string) => mergePeople(ctx, { survivorId, mergedId });

async function upsert(...emails: string[]) {
  const operations = emails.map((email) => ({ op: "upsert" as const, data: { email, tags: ["upserted"] } }));
  return (await bulkPeople(ctx, { operations })).results;
}

/** Three people with an email each. */
async function addThree() {
  const chain = ++chains;
  const add = async (index: number) => {
    const email = `chain${chain}.${index}@acme.com`;
    return { email, id: (await upsertPerson(ctx, { id: randomUUID(), email })).person.id };
  };
  return [await add(0), await add(1), await add(2)] as const;
}

test("an upsert by an email that lost finds somebody, whatever is merged and undone beside it", async () => {
  for (let round = 0; round < ROUNDS; round++) {
    const [a, b, c] = await addThree();
    const [, early] = await Promise.all([merge(b.id, a.id), upsert(b.email, a.email)]);
    const [{ mergeId }, between] = await Promise.all([merge(c.id, b.id), upsert(a.email, b.email)]);
    const [, late] = await Promise.all([undoMerge(ctx, { mergeId }), upsert(a.email, b.email)]);
    const known = [a, b, c].map(({ id }) => id);
    const results = [...early, ...between, ...late];
    expect(results.filter((result) => !result.ok || !known.includes(result.personId ?? ""))).toEqual([]);
  }
});

test("an upsert by an alias of somebody who is being merged finds the survivor", async () => {
  const [a, b, c] = await addThree();
  await merge(b.id, a.id);
  const release = await holdLock(sql, "SELECT 1 FROM person_redirects WHERE id = $1 FOR UPDATE", [a.id]);
  const merging = merge(c.id, b.id);
  await waitingSessions(sql, 1);
  const upserting = upsert(a.email);
  await waitingSessions(sql, 2);
  await release();
  await merging;
  expect(await upserting).toEqual([{ index: 0, op: "upsert", ok: true, personId: c.id }]);
  expect(await readPerson(ctx, { id: c.id })).toMatchObject({ email: c.email, tags: ["upserted"] });
});

test("an upsert by an alias beside the undo that gives it back finds the restored person", async () => {
  const [a, b, c] = await addThree();
  await merge(b.id, a.id);
  const { mergeId } = await merge(c.id, b.id);
  const release = await holdLock(sql, "SELECT 1 FROM person_redirects WHERE id = $1 FOR UPDATE", [b.id]);
  const undoing = undoMerge(ctx, { mergeId });
  await waitingSessions(sql, 1);
  const upserting = upsert(a.email);
  await waitingSessions(sql, 2);
  await release();
  await undoing;
  expect(await upserting).toEqual([{ index: 0, op: "upsert", ok: true, personId: b.id }]);
  expect((await readPerson(ctx, { id: c.id })).tags).toEqual([]);
});
