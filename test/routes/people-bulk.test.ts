import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { expectProblem } from "../support/expect-errors.ts";
import { freshIds, idsIn, namesIn, type People, signUpForPeople } from "../support/people.ts";
import { startTestQuayside, type TestQuayside } from "../support/quayside.ts";
import { connectTo } from "../support/sql.ts";

const NO_SUCH_ID = "00000000-0000-4000-8000-000000000000";

let quayside: TestQuayside;
let sql: ReturnType<typeof connectTo>;
let people: People;
let emails = 0;

beforeAll(async () => {
  quayside = await startTestQuayside({}, "api");
  sql = connectTo(quayside.databaseUrl);
  people = await signUpForPeople(quayside, "owner");
});

afterAll(async () => {
  await sql?.end();
  await quayside?.stop();
});

const freshEmail = () => `person${++emails}@bulk.example`;
const upsert = (data: object) => ({ op: "upsert", data });
const tag = (personId: string, name: string) => ({ op: "tag", personId, tag: name });
const untag = (personId: string, name: string) => ({ op: "untag", personId, tag: name });

async function run(operations: object[], by = people) {
  const reply = await by.bulk(operations);
  expect(reply.status, reply.text).toBe(200);
  const { results, succeeded, failed } = reply.body;
  // What must always be so.
  expect(results.map(({ index, op }: { index: number; op: string }) => [index, op])).toEqual(
    operations.map((operation, index) => [index, (operation as { op: string }).op]),
  );
  expect(succeeded).toBe(results.filter(({ ok }: { ok: boolean }) => ok).length);
  expect(failed).toBe(results.length - succeeded);
  for (const result of results) expect(Object.keys(result)).toContain(result.ok ? "personId" : "error");
  return results as { index: number; op: string; ok: boolean; personId: string; error: string }[];
}

const personOf = async (id: string) => (await people.read(id)).body;
const withEmail = async (email: string) => idsIn(await people.list(`filter[email]=${encodeURIComponent(email)}`));

describe("many operations", () => {
  test("are answered in their order, with what each of them did", async () => {
    const [one, two] = [await people.make({ tags: ["a"] }), randomUUID()];
    const results = await run([
      tag(one, "b"),
      upsert({ id: two, name: "Two" }),
      untag(one, "a"),
      tag(NO_SUCH_ID, "x"),
      upsert({ name: "Three" }),
    ]);
    expect(results.map(({ ok, personId }) => [ok, personId])).toEqual([
      [true, one],
      [true, two],
      [true, one],
      [false, undefined],
      [true, expect.stringMatching(/^[0-9a-f-]{36}$/)],
    ]);
    expect(await personOf(one)).toMatchObject({ tags: ["b"] });
    expect(await personOf(results[4]?.personId ?? "")).toMatchObject({ name: "Three" });
  });

  test("do what they can: those that cannot be done say why, and leave no trace", async () => {
    const full = await people.make({ tags: Array.from({ length: 100 }, (_, index) => `t${index}`) });
    const fresh = freshEmail();
    const results = await run([
      tag(NO_SUCH_ID, "x"),
      untag(NO_SUCH_ID, "x"),
      tag(full, "one too many"),
      tag(full, "t5"),
      upsert({ email: fresh, domain: "1.2", name: "Half" }),
      upsert({ email: fresh, name: "Whole" }),
    ]);
    expect(results.map(({ ok, error }) => (ok ? true : error))).toEqual([
      `No person has the id ${NO_SUCH_ID}.`,
      `No person has the id ${NO_SUCH_ID}.`,
      "A person may have at most 100 tags.",
      true,
      "'1.2' is no domain name.",
      true,
    ]);
    expect(namesIn(await people.list(`filter[email]=${fresh}`))).toEqual(["Whole"]);
  });

  test("may be 1 to 1,000", async () => {
    expectProblem(await people.bulk([]), 422, "validation_failed", /'operations' is not valid: must not be empty/);
    const id = await people.make();
    const thousand = Array.from({ length: 1_000 }, (_, index) => tag(id, `t${index % 100}`));
    expect((await run(thousand)).every(({ ok }) => ok)).toBe(true);
    const before = await personOf(id);
    const reply = await people.bulk([...thousand, untag(id, "t1")]);
    expectProblem(reply, 422, "validation_failed", /must not have more than 1000 items; this has 1001/);
    expect(await personOf(id)).toEqual(before);
  });

  test.each([
    ["no list", { op: "tag" }, /'operations' is not valid/],
    ["null", null, /'operations' is not valid/],
    [
      "an unknown operation",
      [{ op: "delete", personId: NO_SUCH_ID }],
      /'operations.0.op' is not valid: .*'upsert'.*'tag'/,
    ],
    ["an operation without a name", [{ personId: NO_SUCH_ID }], /'operations.0.op' is not valid/],
    ["text", ["tag"], /'operations.0' is not valid/],
    ["an upsert without data", [{ op: "upsert" }], /'operations.0.data' is not valid/],
    [
      "an upsert with the fields outside of data",
      [{ op: "upsert", data: {}, name: "x" }],
      /'operations.0.name' is not valid/,
    ],
    ["a bad id", [upsert({ id: "x" })], "'operations.0.data.id' is not valid: must be a UUID"],
    ["a tag without a person", [{ op: "tag", tag: "x" }], /'operations.0.personId' is not valid/],
    ["a bad person id", [tag("x", "y")], "'operations.0.personId' is not valid: must be a UUID"],
    ["an empty tag", [tag(NO_SUCH_ID, "")], /'operations.0.tag' is not valid/],
    ["several tags at once", [{ op: "tag", personId: NO_SUCH_ID, tags: ["x"] }], /'operations.0.tag' is not valid/],
  ])("that are %s are refused as a whole, with none done", async (_, operations, message) => {
    const id = randomUUID();
    const reply = await people.bulk(Array.isArray(operations) ? operations.concat(upsert({ id })) : operations);
    expectProblem(reply, 422, "validation_failed", message);
    expectProblem(await people.read(id), 404, "not_found");
  });

  test("ask for a credential that may write", async () => {
    const reader = await quayside.makeKey(people.token, { scopes: ["read"] });
    const body = { operations: [upsert({ name: "No" })] };
    expectProblem(await quayside.call("POST", "/v1/crm/people/bulk", { body }), 401, "sign_in_required");
    const weak = await quayside.call("POST", "/v1/crm/people/bulk", { body, token: reader.secret });
    expectProblem(weak, 403, "insufficient_scope");
  });
});

describe("an upsert among many finds its person", () => {
  test("by id, else by email whatever its case, else makes a new one", async () => {
    const email = freshEmail();
    const id = await people.make({ email, name: "There" });
    const other = randomUUID();
    const results = await run([
      upsert({ email: email.toUpperCase(), attributes: { by: "email" } }),
      upsert({ id: id.toUpperCase(), attributes: { too: "id" } }),
      upsert({ id: other, email: freshEmail(), name: "By id" }),
      upsert({ email: freshEmail(), name: "New" }),
    ]);
    expect(results.map(({ personId }) => personId)).toEqual([id, id, other, expect.any(String)]);
    expect(await personOf(id)).toMatchObject({
      email: email.toUpperCase(),
      name: "There",
      attributes: { by: "email", too: "id" },
    });
  });

  test("by id, also when its email is another person's; the two are then duplicates", async () => {
    const email = freshEmail();
    const [holder, id] = [await people.make({ email }), await people.make()];
    const [result] = await run([upsert({ id, email })]);
    expect(result).toMatchObject({ ok: true, personId: id });
    expect((await withEmail(email)).sort()).toEqual([holder, id].sort());
  });

  test("or says whom an email could mean when several have it", async () => {
    const email = freshEmail();
    const holders = [await people.make({ email }), await people.make({ email }), await people.make({ email })].sort();
    const results = await run([upsert({ email: email.toUpperCase(), name: "Who?" }), upsert({ name: "Other" })]);
    expect(results[0]?.error).toBe(
      `The email ${email.toUpperCase()} belongs to 3 people (${holders.join(", ")}); name one by 'id', or merge them.`,
    );
    expect(results[1]?.ok).toBe(true);
    expect(namesIn(await people.list(`filter[email]=${email}`))).toEqual([null, null, null]);
  });

  test("or names five of many", async () => {
    const email = freshEmail();
    const ids = freshIds(7);
    await run(ids.map((id) => upsert({ id, email })));
    const [result] = await run([upsert({ email })]);
    expect(result?.error).toMatch(
      /^The email \S+ belongs to more than 5 people \((\S+, ){4}\S+ and others\); name one/,
    );
    const named = result?.error.match(/[0-9a-f-]{36}/g) ?? [];
    expect(new Set(named).size).toBe(5);
    expect(ids).toEqual(expect.arrayContaining(named));
  });

  test("once for one new email, however often it comes, in whatever case", async () => {
    const email = freshEmail();
    const results = await run([
      upsert({ email, attributes: { a: 1 } }),
      upsert({ email: email.toUpperCase(), attributes: { b: 2 } }),
      upsert({ email, tags: ["t"] }),
    ]);
    expect(new Set(results.map(({ personId }) => personId)).size).toBe(1);
    expect(await withEmail(email)).toHaveLength(1);
    expect(await personOf(results[0]?.personId ?? "")).toMatchObject({
      email,
      tags: ["t"],
      attributes: { a: 1, b: 2 },
    });
    const { body } = await people.call("GET", `/${results[0]?.personId}/timeline`);
    expect(body.events).toHaveLength(1);
  });

  test("and never in another organization", async () => {
    const email = freshEmail();
    const id = await people.make({ email, name: "Ours" });
    const stranger = await signUpForPeople(quayside, "stranger");
    const results = await run(
      [upsert({ email, name: "Theirs" }), upsert({ id, name: "Theirs too" }), tag(id, "x")],
      stranger,
    );
    expect(results[0]?.personId).not.toBe(id);
    expect(results[1]).toMatchObject({ ok: true, personId: id });
    expect(await personOf(id)).toMatchObject({ name: "Ours", tags: [] });
    expect(namesIn(await stranger.list()).sort()).toEqual(["Theirs", "Theirs too"]);
  });
});

describe("operations on the same person", () => {
  test("build on each other", async () => {
    const [id, email] = [randomUUID(), freshEmail()];
    const results = await run([
      tag(id, "too early"),
      upsert({ id, email, name: "First" }),
      tag(id, "a"),
      tag(id, "b"),
      untag(id, "a"),
      tag(id, "b"),
      untag(id, "never there"),
      upsert({ email, name: "Second", attributes: { x: 1 } }),
      upsert({ id, attributes: { x: null, y: 2 } }),
    ]);
    expect(results.map(({ ok }) => ok)).toEqual([false, true, true, true, true, true, true, true, true]);
    expect(await personOf(id)).toMatchObject({ email, name: "Second", tags: ["b"], attributes: { y: 2 } });
  });

  test("see the email that an earlier one gave away or took", async () => {
    const [old, renamed] = [freshEmail(), freshEmail()];
    const id = await people.make({ email: old });
    const results = await run([
      upsert({ id, email: renamed }),
      upsert({ email: renamed, name: "Same" }),
      upsert({ email: old, name: "Somebody new" }),
    ]);
    expect(results.map(({ personId }) => personId === id)).toEqual([true, true, false]);
    expect(await personOf(id)).toMatchObject({ email: renamed, name: "Same" });
    expect(await withEmail(old)).toEqual([results[2]?.personId]);
  });

  test("see that an email became one person's again", async () => {
    const email = freshEmail();
    const [keeps, leaves] = [await people.make({ email }), await people.make({ email })];
    const results = await run([
      upsert({ email, name: "Who?" }),
      upsert({ id: leaves, email: freshEmail() }),
      upsert({ email, name: "Now clear" }),
    ]);
    expect(results.map(({ ok, personId }) => (ok ? personId : false))).toEqual([false, leaves, keeps]);
    expect(await personOf(keeps)).toMatchObject({ name: "Now clear" });
  });

  test("tell one change of all of them together on the timeline", async () => {
    const id = await people.make({ name: "Before" });
    await run([upsert({ id, name: "Between" }), tag(id, "x"), untag(id, "x"), upsert({ id, name: "Before" })]);
    const { body } = await people.call("GET", `/${id}/timeline`);
    expect(body.events.map(({ type }: { type: string }) => type)).toEqual(["person.created"]);
    expect((await personOf(id)).updatedAt).toBe((await personOf(id)).createdAt);
  });
});

test("an email that only SQL could have stored in capitals is found all the same", async () => {
  const [id, email] = [randomUUID(), freshEmail()];
  await sql`INSERT INTO people (organization_id, id, email) VALUES (${people.organizationId}, ${id}, ${email.toUpperCase()})`;
  const [result] = await run([upsert({ email, name: "Found" })]);
  expect(result?.personId).toBe(id);
});
