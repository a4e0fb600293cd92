import { randomUUID } from "node:crypto";
import type { BulkOperation, UpsertPersonInput } from "@quayside/contracts";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { asUser } from "../../../../../test/support/actors.ts";
import { openTestServices, type TestServices } from "../../../../../test/support/services.ts";
import type { Context } from "../../platform/context.ts";
import { bulkPeople } from "../people/bulk-people.ts";
import { readPerson } from "../people/read-person.ts";
import { upsertPerson } from "../people/upsert-person.ts";
import { mergePeople } from "./merge-people.ts";
import { undoMerge } from "./undo-merge.ts";

let world: TestServices;
let ctx: Context;
let organizationId: string;
let users = 0;

beforeAll(async () => {
  world = await openTestServices();
});

beforeEach(async () => {
  ctx = await asUser(world, `alias${++users}`);
  organizationId = ctx.principal?.organization.id ?? "";
});

afterAll(() => world.close());

type Fields = Omit<UpsertPersonInput, "id">;

const add = async (fields: Fields = {}) => (await upsertPerson(ctx, { id: randomUUID(), ...fields })).person.id;
const addEach = (emails: readonly string[]) => Promise.all(emails.map((email) => add({ email })));
const merge = (survivorId: string, mergedId: string, fields = {}) => mergePeople(ctx, { survivorId, mergedId, fields });
const read = (id: string) => readPerson(ctx, { id });
const upsert = (data: Fields & { id?: string }): BulkOperation => ({ op: "upsert", data });

/** Whom each of these upserts meant, or why it was refused. */
async function bulk(...operations: BulkOperation[]) {
  const { results } = await bulkPeople(ctx, { operations });
  return results.map((result) => (result.ok ? result.personId : result.error));
}

async function aliases() {
  const rows = await ctx.db.sql<{ email: string; id: string; mergeId: string }[]>`
    SELECT email, person_id AS id, merge_id AS "mergeId" FROM person_email_aliases
    WHERE organization_id = ${organizationId} ORDER BY email, person_id`;
  return rows.map(({ email, id, mergeId }) => [email, id, mergeId]);
}

describe("an upsert by an email that lost in a merge", () => {
  test("means the survivor, who keeps its own email and domain", async () => {
    const [survivor, merged] = [await add({ email: "s@keep.example" }), await add({ email: "M@Lost.example" })];
    await merge(survivor, merged);
    const operation = upsert({ email: "m@LOST.example", name: "Found", tags: ["t"] });
    expect(await bulk(operation, operation)).toEqual([survivor, survivor]);
    expect(await read(survivor)).toMatchObject({
      ...{ email: "s@keep.example", domain: "keep.example", name: "Found", tags: ["t"] },
    });
    expect(await ctx.db.sql`SELECT id FROM people WHERE organization_id = ${organizationId}`).toHaveLength(1);
  });

  test("means the survivor also when its own email lost", async () => {
    const [survivor, merged] = [await add({ email: "s@x.example" }), await add({ email: "m@x.example" })];
    const { mergeId } = await merge(survivor, merged, { email: "merged" });
    expect(await aliases()).toEqual([["s@x.example", survivor, mergeId]]);
    expect(await bulk(upsert({ email: "s@x.example" }), upsert({ email: "m@x.example" }))).toEqual([
      ...[survivor, survivor],
    ]);
    expect((await read(survivor)).email).toBe("m@x.example");
  });

  test("needs no alias where the survivor has the email, in whatever case", async () => {
    await merge(await add({ email: "same@x.example" }), await add({ email: "Same@X.example" }));
    await merge(await add({}), await add({ email: "taken@x.example" }));
    expect(await aliases()).toEqual([]);
  });

  test("means somebody who holds it as their own, before the survivor", async () => {
    const [survivor, merged] = await addEach(["s@x.example", "m@x.example"]);
    await merge(survivor ?? "", merged ?? "");
    const holder = await add({ email: "M@x.example" });
    expect(await bulk(upsert({ email: "m@x.example" }))).toEqual([holder]);
    // In one call: it is given up, means the survivor, and is taken again.
    expect(
      await bulk(
        upsert({ id: holder, email: "other@x.example" }),
        upsert({ email: "m@x.example" }),
        upsert({ id: holder, email: "m@x.example" }),
        upsert({ email: "m@x.example" }),
      ),
    ).toEqual([holder, survivor, holder, holder]);
  });

  test("is refused when it lost to several survivors, however many", async () => {
    const email = "shared@x.example";
    const lose = async (own: string) => {
      const survivor = await add({ email: own });
      await merge(survivor, await add({ email }));
      return survivor;
    };
    const two = [await lose("0@x.example"), await lose("1@x.example")];
    expect(await bulk(upsert({ email }))).toEqual([
      `The email ${email} belongs to 2 people (${two.sort().join(", ")}); name one by 'id', or merge them.`,
    ]);
    for (let index = 2; index < 8; index++) await lose(`${index}@x.example`);
    expect((await bulk(upsert({ email })))[0]).toMatch(/belongs to more than 5 people \(.* and others\)/);
    expect(await ctx.db.sql`SELECT id FROM people WHERE organization_id = ${organizationId}`).toHaveLength(8);
  });

  test("does not reach other organizations, and a person who is named by id gets the email", async () => {
    const [survivor = "", merged = ""] = await addEach(["s@x.example", "m@x.example"]);
    await merge(survivor, merged);
    const stranger = await asUser(world, `aliasstranger${users}`);
    const { results } = await bulkPeople(stranger, { operations: [upsert({ email: "m@x.example" })] });
    expect(results[0]).toMatchObject({ ok: true, personId: expect.not.stringContaining(survivor) });
    expect(await bulk(upsert({ id: merged, email: "m@x.example" }))).toEqual([survivor]);
    expect((await read(survivor)).email).toBe("m@x.example");
  });
});

describe("emails that lost", () => {
  const [A, B, C, D] = ["a@x.example", "b@x.example", "c@x.example", "d@x.example"];

  test("follow a chain of merges to its end, and come back step by step", async () => {
    const [a = "", b = "", c = ""] = await addEach([A, B, C]);
    const first = await merge(b, a);
    const between = await aliases();
    const second = await merge(c, b);
    expect(await aliases()).toEqual([A, B].map((email) => [email, c, second.mergeId]));
    expect(await bulk(upsert({ email: A }), upsert({ email: B }), upsert({ email: C }))).toEqual([c, c, c]);
    await undoMerge(ctx, second);
    expect(await aliases()).toEqual(between);
    expect(await bulk(upsert({ email: A }), upsert({ email: B }), upsert({ email: C }))).toEqual([b, b, c]);
    await undoMerge(ctx, first);
    expect(await aliases()).toEqual([]);
    expect(await bulk(upsert({ email: A }), upsert({ email: B }), upsert({ email: C }))).toEqual([a, b, c]);
  });

  test("that both people of a merge were found by find both again when it is undone", async () => {
    const [a1 = "", a2 = "", a3 = "", b = "", c = "", d = ""] = await addEach([A, A, A, B, C, D]);
    await merge(d, a3);
    world.clock.advance(1_000);
    await merge(b, a1);
    // By the older merge of somebody else, though later by this person's own.
    const own = await merge(b, d);
    await merge(c, a2);
    const before = await aliases();
    const { mergeId } = await merge(c, b);
    expect((await aliases()).map(([email, id]) => [email, id])).toEqual([A, B, D].map((email) => [email, c]));
    await undoMerge(ctx, { mergeId });
    expect(await aliases()).toEqual(before);
    await undoMerge(ctx, own);
    expect((await aliases()).map(([email, id]) => [email, id])).toEqual([b, c, d].sort().map((id) => [A, id]));
  });
});
