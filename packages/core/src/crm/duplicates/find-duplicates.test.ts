import { randomUUID } from "node:crypto";
import type { ScannedDuplicates, UpsertPersonInput } from "@quayside/contracts";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { asUser } from "../../../../../test/support/actors.ts";
import { openTestServices, type TestServices } from "../../../../../test/support/services.ts";
import type { Context } from "../../platform/context.ts";
import { deletePerson } from "../people/delete-person.ts";
import { upsertPerson } from "../people/upsert-person.ts";
import { dismissDuplicate } from "./dismiss-duplicate.ts";
import { findDuplicates } from "./find-duplicates.ts";
import { findMergeCandidates } from "./find-merge-candidates.ts";
import { mergePeople } from "./merge-people.ts";
import { restoreDuplicate } from "./restore-duplicate.ts";
import { scanDuplicates } from "./scan-duplicates.ts";

type Fields = Omit<UpsertPersonInput, "id">;

const ADA: Fields = {
  name: "Ada Lovelace",
  email: "ada.lovelace@acme.com",
  attributes: { mobile: "+44 7700 900123", date_of_birth: "1975-03-12" },
};
/** Each shares something else with Ada that an index finds. */
const SAME_AS_ADA: readonly (readonly [string, Fields])[] = [
  ["the email, in another case", { name: "A. Lovelace", email: "ADA.Lovelace@acme.com" }],
  ["the number and the birth date", { name: "Lovelace, Ada", attributes: ADA.attributes }],
  ["the birth date and a name with a slip", { name: "Ada Lovelase", attributes: { date_of_birth: "1975-03-12" } }],
  ["the company and a nearly equal name", { name: "Adda Lovelace", email: "alovelace@acme.com" }],
];
/** What only one person's search looks for. */
const WRITTEN_DIFFERENTLY: readonly (readonly [string, Fields])[] = [
  ["the number as bare digits under another key", { name: "Ada L.", attributes: { phone: "447700900123" } }],
  ["the mailbox at another provider", { name: "Ada Lovelace", email: "ada.lovelace@gmail.com" }],
];

let world: TestServices;
let ctx: Context;
let users = 0;

beforeAll(async () => {
  world = await openTestServices();
});

beforeEach(async () => {
  ctx = await asUser(world, `finder${++users}`);
});

afterAll(() => world.close());

async function add(fields: Fields = {}): Promise<string> {
  return (await upsertPerson(ctx, { id: randomUUID(), ...fields })).person.id;
}

/** So many people who have little in common with anybody. */
async function addStrangers(count: number): Promise<void> {
  await ctx.db.sql`
    INSERT INTO people (organization_id, id, name, email, attributes)
    SELECT ${ctx.principal?.organization.id ?? ""}, gen_random_uuid(), initcap(md5('g' || n % 50) || ' ' || md5('s' || n)),
      md5('m' || n) || '@' || md5('d' || n) || '.example', jsonb_build_object('city', 'City ' || n % 7)
    FROM generate_series(1, ${count}::int) AS n`;
}

const find = async (personId: string, minConfidence = 0.5, limit = 10) =>
  (await findDuplicates(ctx, { personId, minConfidence, limit })).map((duplicate) => duplicate.personId);

async function scan(limit: number, minConfidence = 0.5): Promise<ScannedDuplicates["pairs"]> {
  const pairs: ScannedDuplicates["pairs"] = [];
  let cursor: string | undefined;
  for (let page = 0; page < 100; page++) {
    const scanned = await scanDuplicates(ctx, { limit, minConfidence, ...(cursor === undefined ? {} : { cursor }) });
    pairs.push(...scanned.pairs);
    if (scanned.next_cursor === null) return pairs;
    cursor = scanned.next_cursor;
  }
  throw new Error("The scan does not end.");
}

const idsOf = (pairs: ScannedDuplicates["pairs"]) =>
  pairs.map(({ first, second }) => `${first.id} ${second.id}`).sort();

describe("one person's duplicates", () => {
  test.each([...SAME_AS_ADA, ...WRITTEN_DIFFERENTLY])("are found by %s", async (_, fields) => {
    const ada = await add(ADA);
    await addStrangers(300);
    const other = await add(fields);
    expect(await find(ada, 0.2)).toEqual([other]);
    expect(await find(other, 0.2)).toEqual([ada]);
  });

  test("come with who they are, why, and the likeliest first", async () => {
    const ada = await add(ADA);
    const likely = await add({ ...ADA, name: "Ada Lovelace" });
    const possible = await add({ name: "Ada Lovelace", attributes: { date_of_birth: "1975-03-21" } });
    const found = await findDuplicates(ctx, { personId: ada, minConfidence: 0, limit: 10 });
    expect(found.map(({ personId }) => personId)).toEqual([likely, possible]);
    expect(found[0]?.confidence).toBeGreaterThan(0.99);
    expect(found[0]?.reasons).toContain("Same email address ada.lovelace@acme.com");
    expect(found[0]?.person).toMatchObject({ id: likely, name: "Ada Lovelace", email: "ada.lovelace@acme.com" });
    expect(found[0]?.person).not.toHaveProperty("attributes");
    expect(await find(ada, 0, 1)).toEqual([likely]);
  });

  test("are none for somebody without any data, or with odd data", async () => {
    await addStrangers(50);
    for (const fields of [
      {},
      { name: "%" },
      { name: "😀" },
      { name: "' OR 1=1 --" },
      { attributes: { phone: { nested: 1 }, mobile: ["1"], dob: true, "": 1 } },
      { attributes: { phone: "x".repeat(5_000), __proto__: { phone: "1" } } },
    ] as Fields[]) {
      expect(await find(await addRaw(fields), 0.5)).toEqual([]);
    }
  });

  test("are compared within bounds though a thousand have the same name and number", async () => {
    const ada = await add(ADA);
    await ctx.db.sql`
      INSERT INTO people (organization_id, id, name, attributes)
      SELECT ${ctx.principal?.organization.id ?? ""}, gen_random_uuid(), 'Ada Lovelace',
        '{"mobile": "+44 7700 900123", "date_of_birth": "1900-01-01"}'
      FROM generate_series(1, 1000) AS n`;
    const twin = await add({ name: "Ada Lovelace", email: "ada.lovelace@acme.com" });
    expect((await find(ada, 0.5, 1))[0]).toBe(twin);
    expect((await find(ada, 0, 50)).length).toBe(50);
  });

  test("of an unknown person, or another organization's, are not found", async () => {
    const stranger = await asUser(world, `other${users}`);
    const { person } = await upsertPerson(stranger, { id: randomUUID(), ...ADA });
    const ada = await add(ADA);
    expect(await find(ada)).toEqual([]);
    for (const id of [person.id, randomUUID()]) await expect(find(id)).rejects.toMatchObject({ code: "not_found" });
  });

  test("of a merged id are the survivor's", async () => {
    const [survivor, merged, third] = [await add(ADA), await add(ADA), await add(ADA)];
    await mergePeople(ctx, { survivorId: survivor, mergedId: merged });
    expect(await find(merged)).toEqual([third]);
  });
});

/** As imports may have stored it. */
async function addRaw({ name, attributes }: Fields): Promise<string> {
  const id = randomUUID();
  await ctx.db.sql`
    INSERT INTO people (organization_id, id, name, attributes)
    VALUES (${ctx.principal?.organization.id ?? ""}, ${id}, ${name ?? null},
      ${JSON.stringify(attributes ?? {})}::text::jsonb)`;
  return id;
}

describe("a scan", () => {
  test("gives each likely pair once, whatever the size of its pages", async () => {
    await addStrangers(40);
    const ids = [await add(ADA)];
    for (const [, fields] of SAME_AS_ADA) ids.push(await add(fields));
    const pairs = idsOf(await scan(100));
    expect(new Set(pairs).size).toBe(pairs.length);
    expect(pairs.length).toBeGreaterThanOrEqual(SAME_AS_ADA.length);
    for (const pair of pairs) for (const id of pair.split(" ")) expect(ids).toContain(id);
    for (const size of [1, 7]) expect(idsOf(await scan(size))).toEqual(pairs);
  });

  test("has the confidence and reasons that a comparison by id has", async () => {
    const ids = [await add(ADA), await add({ name: "Ada Lovelace", email: "ada@acme.com" })];
    const [pair] = await scan(10, 0);
    const [candidate] = await findMergeCandidates(ctx, { id: ids[0] ?? "", candidateIds: ids });
    expect([pair?.confidence, pair?.reasons]).toEqual([candidate?.confidence, candidate?.reasons]);
  });

  test("goes on where it was, though the last person was deleted meanwhile", async () => {
    const ids = [await add(ADA), await add(ADA), await add(ADA)].sort();
    const first = await scanDuplicates(ctx, { limit: 1, minConfidence: 0.5 });
    expect(first.pairs).toHaveLength(2);
    await deletePerson(ctx, { id: ids[0] ?? "" });
    const second = await scanDuplicates(ctx, { limit: 1, minConfidence: 0.5, cursor: first.next_cursor ?? "" });
    expect(idsOf(second.pairs)).toEqual([`${ids[1]} ${ids[2]}`]);
  });

  test("takes no cursor of another organization or list", async () => {
    await add();
    await add();
    const { next_cursor: cursor } = await scanDuplicates(ctx, { limit: 1, minConfidence: 0.5 });
    const stranger = await asUser(world, `scanner${users}`);
    for (const [by, given] of [
      [stranger, cursor ?? ""],
      [ctx, "made-up"],
    ] as const) {
      await expect(scanDuplicates(by, { limit: 1, minConfidence: 0.5, cursor: given })).rejects.toMatchObject({
        code: "invalid_cursor",
      });
    }
  });

  test("of nobody is empty", async () => {
    expect(await scanDuplicates(ctx, { limit: 100, minConfidence: 0 })).toEqual({ pairs: [], next_cursor: null });
  });
});

describe("a dismissed pair", () => {
  test("is found no more, in whichever order it was named, until that is taken back", async () => {
    const [a, b, c] = [await add(ADA), await add(ADA), await add(ADA)];
    await dismissDuplicate(ctx, { firstId: b, secondId: a });
    await dismissDuplicate(ctx, { firstId: a, secondId: b });
    expect([await find(a), await find(b)]).toEqual([[c], [c]]);
    expect(await scan(10)).toHaveLength(2);
    await restoreDuplicate(ctx, { firstId: a, secondId: b });
    await restoreDuplicate(ctx, { firstId: a, secondId: b });
    expect((await find(a)).sort()).toEqual([b, c].sort());
    const rows = await ctx.db.sql`
      SELECT action FROM audit_events WHERE organization_id = ${ctx.principal?.organization.id ?? ""}
      AND action LIKE 'duplicate.%' ORDER BY id`;
    expect(rows.map(({ action }) => action)).toEqual(["duplicate.dismissed", "duplicate.restored"]);
  });

  test("does not count against a comparison by id", async () => {
    const [a, b] = [await add(ADA), await add(ADA)];
    await dismissDuplicate(ctx, { firstId: a, secondId: b });
    expect(await findMergeCandidates(ctx, { id: a, candidateIds: [b] })).toHaveLength(1);
  });

  test("needs two people of the organization", async () => {
    const id = await add();
    const stranger = await asUser(world, `dismisser${users}`);
    const { person } = await upsertPerson(stranger, { id: randomUUID() });
    for (const other of [randomUUID(), person.id]) {
      await expect(dismissDuplicate(ctx, { firstId: id, secondId: other })).rejects.toMatchObject({
        ...{ code: "not_found", message: `No person has the id ${other}.` },
      });
    }
    const refused = { code: "validation_failed" };
    await expect(dismissDuplicate(ctx, { firstId: id, secondId: id })).rejects.toMatchObject(refused);
  });
});

describe("how common a value is", () => {
  const named = (name: string, fields: Fields = {}): Fields => ({ name, ...fields });
  const confidence = async (one: Fields, other: Fields) => {
    const [a, b] = [await add(one), await add(other)];
    return (await findMergeCandidates(ctx, { id: a, candidateIds: [b] }))[0]?.confidence ?? 0;
  };

  test.each([800, 3_000])("counts among %i people: a rare name says more than a common one", async (people) => {
    await addStrangers(people);
    await ctx.db.sql`
      UPDATE people SET name = 'Mary Smith' WHERE organization_id = ${ctx.principal?.organization.id ?? ""}
      AND get_byte(uuid_send(id), 15) < 25`;
    const common = await confidence(named("Mary Smith"), named("Mary Smith"));
    const rare = await confidence(named("Odalys Thistlewood"), named("Odalys Thistlewood"));
    expect(rare).toBeGreaterThan(common + 0.5);
  });

  test("does not follow from the records that are compared", async () => {
    const ids: string[] = [];
    for (let copy = 0; copy < 4; copy++) ids.push(await add(ADA));
    const [candidate] = await findMergeCandidates(ctx, { id: ids[0] ?? "", candidateIds: ids });
    expect(candidate?.confidence).toBeGreaterThan(0.99);
  });

  test("counts for emails that many share", async () => {
    const shared = { email: "family@home.example" };
    const before = await confidence(named("Ann", shared), named("Bob", shared));
    await ctx.db.sql`
      INSERT INTO people (organization_id, id, email)
      SELECT ${ctx.principal?.organization.id ?? ""}, gen_random_uuid(), 'Family@home.example' FROM generate_series(1, 40)`;
    const after = await confidence(named("Ann", shared), named("Bob", shared));
    expect(after).toBeLessThan(before);
  });
});
