import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { expectProblem } from "../support/expect-errors.ts";
import { holdLock } from "../support/held-lock.ts";
import { freshIds, type People, signUpForPeople } from "../support/people.ts";
import { startTestQuayside, type TestQuayside } from "../support/quayside.ts";
import { connectTo } from "../support/sql.ts";

const CROWD = 30_000;

let quayside: TestQuayside;
let sql: ReturnType<typeof connectTo>;
let people: People;

beforeAll(async () => {
  quayside = await startTestQuayside({}, "api");
  sql = connectTo(quayside.databaseUrl);
  people = await signUpForPeople(quayside, "owner");
});

afterAll(async () => {
  await sql?.end();
  await quayside?.stop();
});

const upsert = (data: object) => ({ op: "upsert", data });

describe("an email that thousands share", () => {
  test("is refused by naming a few of them, without loading or locking the others", async () => {
    await sql`INSERT INTO people (organization_id, id, email)
      SELECT ${people.organizationId}, gen_random_uuid(), 'Info@crowd.example' FROM generate_series(1, ${CROWD})`;
    // Whoever wanted to lock one of them would wait here until the statement is given up.
    const release = await holdLock(sql, "SELECT 1 FROM people WHERE email = 'Info@crowd.example' FOR UPDATE");
    const replies = await Promise.all([
      people.bulk(Array.from({ length: 1_000 }, () => upsert({ email: "info@crowd.example" }))),
      people.bulk([upsert({ email: "INFO@crowd.example" }), upsert({ name: "Other" })]),
      people.upsert(randomUUID(), { email: "info@crowd.example" }),
    ]);
    await release();
    const [all, one, byId] = replies;
    expect([all?.body.failed, one?.body.failed, one?.body.succeeded, byId?.status]).toEqual([1_000, 1, 1, 201]);
    expect(one?.body.results[0].error).toMatch(/belongs to more than 5 people/);
    expect(all?.text.length).toBeLessThan(400_000);
  });

  test("does not make thousands of such emails slower than thousands of others", async () => {
    const emails = Array.from({ length: 1_000 }, (_, index) => `shared${index}@crowd.example`);
    await sql`INSERT INTO people (organization_id, id, email)
      SELECT ${people.organizationId}, gen_random_uuid(), email
      FROM unnest(${emails}::text[]) AS email, generate_series(1, 8)`;
    const reply = await people.bulk(emails.map((email) => upsert({ email })));
    expect(reply.body).toMatchObject({ succeeded: 0, failed: 1_000 });
  });

  test("by a batch of its own is told without a list of all of them", async () => {
    const given = freshIds(500).map((id) => upsert({ id, email: "own@crowd.example" }));
    const asked = Array.from({ length: 500 }, () => upsert({ email: "own@crowd.example" }));
    const reply = await people.bulk([...given, ...asked]);
    expect(reply.body).toMatchObject({ succeeded: 500, failed: 500 });
    expect(reply.body.results.at(-1).error).toMatch(
      /belongs to more than 5 people \(([0-9a-f-]{36}, ){4}[0-9a-f-]{36} and others\)/,
    );
  });
});

describe("a large body", () => {
  test("of a million wrong operations is refused before they are looked at", async () => {
    const rawBody = `{"operations":[${"0,".repeat(4_000_000)}0]}`;
    const reply = await people.call("POST", "/bulk", { rawBody });
    expectProblem(reply, 422, "validation_failed", /must not have more than 1000 items; this has 4000001/);
  });

  test("of hundreds of thousands of attributes or unknown fields is refused in few words", async () => {
    const fields = Array.from({ length: 300_000 }, (_, index) => `"k${index}":1`).join(",");
    for (const body of [
      `{"operations":[{"op":"upsert","data":{"attributes":{${fields}}}}]}`,
      `{"operations":[{"op":"upsert","data":{"attributes":{"a":{${fields}}}}}]}`,
      `{"operations":[],${fields}}`,
    ]) {
      const reply = await people.call("POST", "/bulk", { rawBody: body });
      expectProblem(reply, 422, "validation_failed");
      expect(reply.text.length).toBeLessThan(20_000);
    }
  });

  test("that is nested a million deep is refused", async () => {
    const deep = (value: string) => `{"operations":[{"op":"upsert","data":{"attributes":{"a":${value}}}}]}`;
    for (const value of [
      `${"[".repeat(1_000_000)}${"]".repeat(1_000_000)}`,
      `${'{"a":'.repeat(500_000)}1${"}".repeat(500_000)}`,
    ]) {
      expectProblem(
        await people.call("POST", "/bulk", { rawBody: deep(value) }),
        422,
        "validation_failed",
        /more than 8 deep/,
      );
    }
  });

  test("of a thousand operations on one person is done in one change", async () => {
    const id = await people.make({ attributes: { a: "x".repeat(60_000) } });
    const operations = Array.from({ length: 1_000 }, (_, index) =>
      upsert({ id, attributes: { [`k${index % 100}`]: index } }),
    );
    const reply = await people.bulk(operations);
    expect(reply.body).toMatchObject({ succeeded: 1_000, failed: 0 });
    expect((await people.read(id)).body.attributes).toMatchObject({ k0: 900, k99: 999 });
    expect((await people.call("GET", `/${id}/timeline`)).body.events).toHaveLength(2);
  });

  test("of a thousand people with a hundred tags and attributes each is taken", async () => {
    const tags = Array.from({ length: 100 }, (_, index) => `tag ${index}`);
    const attributes = Object.fromEntries(tags.map((tag) => [tag, "some value"]));
    const operations = Array.from({ length: 1_000 }, (_, index) =>
      upsert({ email: `p${index}@large${index}.example`, name: "Large", tags, attributes }),
    );
    expect((await people.bulk(operations)).body).toMatchObject({ succeeded: 1_000, failed: 0 });
    expect((await people.bulk(operations)).body).toMatchObject({ succeeded: 1_000, failed: 0 });
  });

  test("of text that is costly to match is refused as quickly as any other", async () => {
    for (const fields of [
      { email: `${"a.".repeat(200_000)}@` },
      { email: `a@${"a-".repeat(200_000)}` },
      { domain: "a.".repeat(200_000) },
      { domain: `${"a-".repeat(200_000)}.b` },
      { tags: [`${" ".repeat(400_000)}x`] },
      { name: " ".repeat(400_000) },
    ]) {
      expectProblem(await people.upsert(randomUUID(), fields), 422, "validation_failed");
    }
  });
});
