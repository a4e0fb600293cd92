import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { expectProblem } from "../support/expect-errors.ts";
import { walkPages } from "../support/organizations.ts";
import { idsIn, namesIn, type People, signUpForPeople } from "../support/people.ts";
import { startTestQuayside, type TestQuayside } from "../support/quayside.ts";
import { connectTo } from "../support/sql.ts";

const REFUSED = "The cursor does not belong to this list with this sort and filter; begin again without a cursor.";

let quayside: TestQuayside;
let sql: ReturnType<typeof connectTo>;
let actors = 0;

beforeAll(async () => {
  quayside = await startTestQuayside({}, "api");
  sql = connectTo(quayside.databaseUrl);
});

afterAll(async () => {
  await sql?.end();
  await quayside?.stop();
});

async function crowd(count: number, fields: (index: number) => object = () => ({})): Promise<People> {
  actors += 1;
  const people = await signUpForPeople(quayside, `crowd${actors}`);
  const operations = Array.from({ length: count }, (_, index) => ({
    op: "upsert",
    data: { name: `Person ${index}`, ...fields(index) },
  }));
  const reply = await people.bulk(operations);
  expect(reply.body.failed, reply.text).toBe(0);
  return people;
}

async function cursorOf(people: People, query: string): Promise<string> {
  const reply = await people.list(query);
  expect(reply.status, reply.text).toBe(200);
  return reply.body.next_cursor;
}

describe("a cursor", () => {
  test.each(["createdAt", "-createdAt", "updatedAt", "-updatedAt", "score", "-score", "name", "-name"])(
    "leads through all pages of the sort %s, with each person once",
    async (sort) => {
      // Many share a name and a score, so that the id has to decide.
      const people = await crowd(23, (index) => ({
        name: ["Ümit", "ada", "Ada", "b", "\u{1f600}", "\u0001"][index % 6],
        ...(index % 3 === 0 ? { tags: ["t"] } : {}),
      }));
      await people.bulk([{ op: "upsert", data: {} }]);
      const whole = idsIn(await people.list(`sort=${sort}&limit=200`));
      expect(new Set(whole).size).toBe(24);
      for (const limit of [1, 5, 23, 24]) {
        expect(await walkPages(people.list, `sort=${sort}&limit=${limit}`), `${limit}`).toEqual(whole);
      }
    },
  );

  test("is null on the last page, also when that is full", async () => {
    const people = await crowd(4);
    const first = await people.list("limit=2");
    const second = await people.list(`limit=2&cursor=${first.body.next_cursor}`);
    expect([second.body.data.length, second.body.next_cursor]).toEqual([2, null]);
  });

  test("may come with another limit and other fields", async () => {
    const people = await crowd(5);
    const cursor = await cursorOf(people, "limit=2");
    const rest = await people.list(`limit=200&fields=name&cursor=${cursor}`);
    expect(namesIn(rest)).toHaveLength(3);
    expect(Object.keys(rest.body.data[0])).toEqual(["id", "name"]);
  });

  test("is refused with another sort, filter or text than its own", async () => {
    const people = await crowd(3, () => ({ tags: ["a", "b"], email: `x${randomUUID()}@a.example` }));
    const cursor = await cursorOf(people, "limit=1&sort=name&filter[tag]=a&q=person");
    for (const query of [
      "sort=name",
      "sort=-name&filter[tag]=a&q=person",
      "filter[tag]=a&q=person",
      "sort=name&filter[tag]=b&q=person",
      "sort=name&filter[tag]=a&filter[score][gt]=0&q=person",
      "sort=name&filter[tag]=a&q=perso",
      "sort=name&q=person",
    ]) {
      expectProblem(await people.list(`${query}&cursor=${cursor}`), 422, "invalid_cursor", REFUSED);
    }
    expect((await people.list(`q=person&filter[tag]=a&sort=name&cursor=${cursor}`)).status).toBe(200);
  });

  test("of another organization or another list is refused", async () => {
    const [mine, theirs] = [await crowd(2), await crowd(2)];
    const cursor = await cursorOf(theirs, "limit=1");
    const reply = await mine.list(`cursor=${cursor}`);
    expectProblem(reply, 422, "invalid_cursor", REFUSED);
    expect(reply.text).not.toContain(theirs.organizationId);
    await mine.make({ domain: "one.example" });
    await mine.make({ domain: "two.example" });
    const companies = await quayside.call("GET", "/v1/crm/companies?limit=1", { token: mine.token });
    expectProblem(await mine.list(`cursor=${companies.body.next_cursor}`), 422, "invalid_cursor", REFUSED);
  });

  test("that was changed in any way is refused", async () => {
    const people = await crowd(2);
    const cursor = await cursorOf(people, "limit=1");
    const flipped = cursor.slice(0, 20) + (cursor[20] === "A" ? "B" : "A") + cursor.slice(21);
    for (const bad of [
      cursor.slice(0, -4),
      cursor.slice(4),
      `${cursor}AAAA`,
      flipped,
      "A",
      "null",
      "%7B%7D",
      "../../etc/passwd",
      "\u00e9",
      Buffer.from(JSON.stringify(["2026-01-01", randomUUID()])).toString("base64url"),
      "A".repeat(4_096),
    ]) {
      expectProblem(await people.list(`cursor=${bad}`), 422, "invalid_cursor", REFUSED);
    }
    expectProblem(await people.list(`cursor=${"A".repeat(4_097)}`), 422, "validation_failed", /'cursor' is not valid/);
    expectProblem(await people.list("cursor="), 422, "validation_failed", /'cursor' is not valid/);
    expectProblem(await people.list(`cursor=${cursor}&cursor=${cursor}`), 422, "validation_failed", /2 times/);
  });

  test.each([
    ["control characters", "\u0001".repeat(500)],
    ["quotes", '"\\'.repeat(250)],
    ["characters of three bytes", "あ".repeat(500)],
    ["emoji", "\u{1f468}\u{1f3fd}".repeat(125)],
    ["letters that grow when they are made small", "\u023a".repeat(500)],
  ])("is never longer than it may be: a name of %s", async (_, name) => {
    const people = await crowd(2, () => ({ name }));
    const cursor = await cursorOf(people, "limit=1&sort=name");
    expect(cursor.length).toBeLessThanOrEqual(4_096);
    const reply = await people.list(`limit=1&sort=name&cursor=${cursor}`);
    expect([reply.status, namesIn(reply)]).toEqual([200, [name]]);
  });

  test("goes on where it was while people come, go and change", async () => {
    const people = await crowd(12);
    const stable = idsIn(await people.list("limit=200&sort=createdAt"));
    const first = await people.list("limit=4&sort=createdAt");
    const [gone, last] = [stable[5] ?? "", stable[3] ?? ""];
    // The person the cursor points at is deleted, one of the next page too; two come; one of each page changes.
    await sql`DELETE FROM people WHERE id IN (${gone}, ${last})`;
    const late = await people.make({ name: "Late" });
    await people.patch(stable[0] ?? "", { name: "Changed" });
    await people.patch(stable[7] ?? "", { name: "Changed too" });
    const rest = await people.list(`limit=200&sort=createdAt&cursor=${first.body.next_cursor}`);
    expect(idsIn(rest)).toEqual([...stable.slice(4).filter((id) => id !== gone), late]);
  });

  test("shows nobody twice who was changed meanwhile, when the newest change comes first", async () => {
    const people = await crowd(6);
    const whole = idsIn(await people.list("limit=200&sort=-updatedAt"));
    const first = await people.list("limit=3&sort=-updatedAt");
    const ahead = whole[4] ?? "";
    await people.patch(ahead, { name: "Moved to the front" });
    const rest = await people.list(`limit=200&sort=-updatedAt&cursor=${first.body.next_cursor}`);
    expect(idsIn(rest)).toEqual(whole.slice(3).filter((id) => id !== ahead));
  });

  test("tells times of one microsecond apart", async () => {
    const people = await crowd(1);
    const { organizationId } = people;
    const ids = [];
    for (const micro of [1, 2, 2, 3]) {
      const id = randomUUID();
      ids.push(id);
      await sql`INSERT INTO people (organization_id, id, created_at)
        VALUES (${organizationId}, ${id}, '2020-01-01T00:00:00Z'::timestamptz + ${micro} * interval '1 microsecond')`;
    }
    const walked = await walkPages(people.list, "limit=1&sort=createdAt");
    expect([...walked.slice(0, 4)].sort()).toEqual(ids.sort());
    expect(walked).toHaveLength(5);
  });
});
