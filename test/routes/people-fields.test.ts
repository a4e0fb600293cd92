import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { expectProblem } from "../support/expect-errors.ts";
import { type People, signUpForPeople } from "../support/people.ts";
import { startTestQuayside, type TestQuayside } from "../support/quayside.ts";

const FIELDS = [
  "id",
  "email",
  "domain",
  "name",
  "tags",
  "attributes",
  "score",
  "companyId",
  "createdAt",
  "updatedAt",
] as const;

let quayside: TestQuayside;
let people: People;

beforeAll(async () => {
  quayside = await startTestQuayside({}, "api");
  people = await signUpForPeople(quayside, "owner");
  for (const name of ["Ada", "Bob", "Cem", "Dee"])
    await people.make({ name, email: `${name}@acme.example`, tags: ["t"] });
});

afterAll(() => quayside?.stop());

describe("the fields of a list", () => {
  test.each([
    ["fields=name,email", ["id", "email", "name"]],
    ["fields=name&fields=email", ["id", "email", "name"]],
    ["fields=name,email&fields=score", ["id", "email", "name", "score"]],
    ["fields= name , email ", ["id", "email", "name"]],
    ["fields[]=name", ["id", "name"]],
    ["fields=id", ["id"]],
    ["fields=name,name,name", ["id", "name"]],
    [`fields=${FIELDS.join(",")}`, [...FIELDS]],
    [Array.from({ length: 30 }, () => "fields=name").join("&"), ["id", "name"]],
  ])("?%s are what was asked for, and the id", async (query, keys) => {
    const reply = await people.list(query);
    expect(reply.status, reply.text).toBe(200);
    for (const person of reply.body.data) expect(Object.keys(person)).toEqual(keys);
    const one = await people.read(reply.body.data[0].id, query);
    expect([one.status, one.body]).toEqual([200, reply.body.data[0]]);
  });

  test.each(["fields=", "fields=size", "fields=name,", "fields=constructor", "fields=Name", "fields=engagement"])(
    "?%s is 422 and says what there is",
    async (query) => {
      expectProblem(await people.list(query), 422, "validation_failed", /"companyId"/);
      const { id } = (await people.list("limit=1")).body.data[0];
      expectProblem(await people.read(id, query), 422, "validation_failed", /"companyId"/);
    },
  );

  test("may be named 50 times and no more", async () => {
    const times = (count: number) => Array.from({ length: count }, () => "fields=name").join("&");
    expect((await people.list(times(50))).status).toBe(200);
    expectProblem(await people.list(times(51)), 422, "validation_failed");
  });
});

describe("the limit of a list", () => {
  test.each([
    ["limit=1", 1],
    ["limit=200", 4],
    ["limit=007", 4],
  ])("?%s is kept", async (query, count) => {
    const reply = await people.list(query);
    expect([reply.status, reply.body.data.length]).toEqual([200, count]);
  });

  test.each([
    ["limit=0", /must be at least 1/],
    ["limit=201", /must be at most 200/],
    ["limit=-1", /must be at least 1/],
    ["limit=1.5", "'limit' is not valid: must be a whole number such as 20, not '1.5'"],
    ["limit=ten", "'limit' is not valid: must be a number such as 20, not 'ten'"],
    ["limit=", "'limit' is not valid: must be a number such as 20, not ''"],
    ["limit=1e2", /must be a number/],
    ["limit=1&limit=2", "'limit' is not valid: was given 2 times; give it once"],
    ["limit[a]=1", "'limit' is not valid: takes one value, without a name in brackets behind it"],
    ["sort=name&sort=score", "'sort' is not valid: was given 2 times; give it once"],
    [`limit=${"9".repeat(400)}`, /must be a number such as 20, not '9{50}…'/],
  ])("?%s is 422 and says what would be right", async (query, message) => {
    expectProblem(await people.list(query), 422, "validation_failed", message);
  });

  test("is 20 when none is given", async () => {
    const crowd = await signUpForPeople(quayside, "crowd");
    await crowd.bulk(Array.from({ length: 21 }, () => ({ op: "upsert", data: {} })));
    const reply = await crowd.list();
    expect(reply.body.data).toHaveLength(20);
    expect(reply.body.next_cursor).toEqual(expect.any(String));
    expect((await crowd.list(`cursor=${reply.body.next_cursor}`)).body.data).toHaveLength(1);
  });
});
