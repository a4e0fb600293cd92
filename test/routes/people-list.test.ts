import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { expectProblem } from "../support/expect-errors.ts";
import { idsIn, namesIn, type People, signUpForPeople } from "../support/people.ts";
import { startTestQuayside, type TestQuayside } from "../support/quayside.ts";
import { connectTo } from "../support/sql.ts";

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
const SORTS = ["createdAt", "updatedAt", "score", "name"] as const;

let quayside: TestQuayside;
let sql: ReturnType<typeof connectTo>;
let people: People;
let stranger: People;

/** Ada and Bob work at Acme; Cem has an address of a mail provider; the one without a name has nothing. */
beforeAll(async () => {
  quayside = await startTestQuayside({}, "api");
  sql = connectTo(quayside.databaseUrl);
  people = await signUpForPeople(quayside, "owner");
  stranger = await signUpForPeople(quayside, "stranger");
  await people.make({
    name: "Ada Lovelace",
    email: "Ada@acme.example",
    tags: ["vip", "math"],
    attributes: { city: "London", title: "Countess", phone: "1" },
  });
  await people.make({ name: "bob", email: "bob@ACME.example", tags: ["vip"], attributes: { city: "Paris" } });
  await people.make({
    name: "Cem Ünal 100%_\\",
    email: "cem@gmail.com",
    attributes: { city: "İzmir", constructor: "x" },
  });
  await people.make({});
  await stranger.make({ name: "Mallory", email: "ada@acme.example", tags: ["vip"], attributes: { city: "London" } });
});

afterAll(async () => {
  await sql?.end();
  await quayside?.stop();
});

const named = async (query: string) => {
  const reply = await people.list(query);
  expect(reply.status, reply.text).toBe(200);
  expect(reply.text).not.toContain("Mallory");
  return namesIn(reply).sort();
};
const ALL = ["Ada Lovelace", "Cem Ünal 100%_\\", "bob", null];
const company = async () => (await people.list("filter[email]=ada@acme.example")).body.data[0].companyId as string;

describe("a list of people", () => {
  test("has the organization's people, the newest first, and no others", async () => {
    const reply = await people.list();
    expect([reply.status, namesIn(reply)]).toEqual([200, [null, "Cem Ünal 100%_\\", "bob", "Ada Lovelace"]]);
    expect(reply.body.next_cursor).toBeNull();
    expect(Object.keys(reply.body.data[0])).toEqual([...FIELDS]);
    expect(namesIn(await stranger.list())).toEqual(["Mallory"]);
  });

  test("asks for a credential that may read", async () => {
    expectProblem(await quayside.call("GET", "/v1/crm/people"), 401, "sign_in_required");
    const reader = await quayside.makeKey(people.token, { scopes: ["read"] });
    expect((await quayside.call("GET", "/v1/crm/people", { token: reader.secret })).status).toBe(200);
    expectProblem(await quayside.call("GET", "/v1/crm/people", { token: "qs_test_x" }), 401, "invalid_credentials");
  });

  test.each(SORTS.flatMap((sort) => [sort, `-${sort}`]))("is in the order of the sort %s", async (sort) => {
    const column = {
      createdAt: "created_at",
      updatedAt: "updated_at",
      score: "score",
      name: "lower(coalesce(name, ''))",
    };
    const direction = sort.startsWith("-") ? "DESC" : "ASC";
    const expression = column[sort.replace("-", "") as (typeof SORTS)[number]];
    const rows = await sql.unsafe(
      `SELECT id FROM people WHERE organization_id = $1 ORDER BY ${expression} ${direction}, id ${direction}`,
      [people.organizationId],
    );
    expect(idsIn(await people.list(`sort=${sort}`))).toEqual(rows.map(({ id }) => id));
  });

  test.each(["size", "-email", "createdAt,name", "", "--name"])("is 422 for the sort '%s'", async (sort) => {
    expectProblem(await people.list(`sort=${sort}`), 422, "validation_failed", /^'sort' is not valid: Invalid option/);
  });
});

describe("a filter", () => {
  test.each([
    ["filter[tag]=vip", ["Ada Lovelace", "bob"]],
    ["filter[tag]=math", ["Ada Lovelace"]],
    ["filter[tag]=VIP", []],
    ["filter[email]=ADA@acme.EXAMPLE", ["Ada Lovelace"]],
    ["filter[email]=nobody@acme.example", []],
    ["filter[domain]=acme.example", ["Ada Lovelace", "bob"]],
    ["filter[domain]=ACME.Example", ["Ada Lovelace", "bob"]],
    ["filter[domain]=gmail.com", []],
    ["filter[name]=ADA%20lovelace", ["Ada Lovelace"]],
    ["filter[name]=Ada", []],
    ["filter[name]=CEM%20%C3%9CNAL%20100%25_%5C", ["Cem Ünal 100%_\\"]],
    ["filter[attributes][city]=London", ["Ada Lovelace"]],
    ["filter[attributes][city]=London&filter[attributes][title]=Countess", ["Ada Lovelace"]],
    ["filter[attributes][city]=London&filter[attributes][title]=Duke", []],
    ["filter[attributes][constructor]=x", ["Cem Ünal 100%_\\"]],
    ["filter[attributes][toString]=x", []],
    ["filter[score][gt]=-1", ALL],
    ["filter[score][gt]=100", []],
    ["filter[score][lt]=0", []],
    ["filter[score][lt]=101", ALL],
    ["filter[score][gt]=null", ALL],
    ["filter[score][gt]=&filter[score][lt]=", ALL],
    ["filter[score][gt]=999999999999999", []],
    ["filter[score][lt]=999999999999999", ALL],
    ["filter[score][gt]=-999999999999999", ALL],
    ["q=love", ["Ada Lovelace"]],
    ["q=ACME", ["Ada Lovelace", "bob"]],
    ["q=%C3%9CNAL", ["Cem Ünal 100%_\\"]],
    ["q=100%25_%5C", ["Cem Ünal 100%_\\"]],
    ["q=%25", ["Cem Ünal 100%_\\"]],
    ["q=_", ["Cem Ünal 100%_\\"]],
    ["q=%20%20love%20", ["Ada Lovelace"]],
    ["q=nothing like this", []],
  ])("?%s finds exactly whom it means", async (query, names) => {
    expect(await named(query)).toEqual(names);
  });

  test("finds text in capitals that JavaScript and PostgreSQL make small in different ways", async () => {
    const capitals = ["İSTANBUL ÇİĞDEM", "ΟΔΥΣΣΕΥΣ", "ẞTRASSE"];
    const owner = await signUpForPeople(quayside, "capitals");
    for (const name of capitals) await owner.make({ name });
    for (const name of capitals) {
      expect(namesIn(await owner.list(`q=${encodeURIComponent(name)}`)), name).toEqual([name]);
      expect(namesIn(await owner.list(`filter[name]=${encodeURIComponent(name)}`)), name).toEqual([name]);
    }
  });

  test("by company finds its people, and none by another organization's", async () => {
    const id = await company();
    expect(await named(`filter[company_id]=${id}`)).toEqual(["Ada Lovelace", "bob"]);
    expect(await named(`filter[company_id]=${id.toUpperCase()}`)).toEqual(["Ada Lovelace", "bob"]);
    expect(namesIn(await stranger.list(`filter[company_id]=${id}`))).toEqual([]);
  });

  test("narrows further with each one that is added", async () => {
    const parts = [
      `filter[company_id]=${await company()}`,
      "filter[tag]=vip",
      "filter[score][gt]=1",
      "filter[score][lt]=100",
      "filter[domain]=acme.example",
      "q=a",
      "filter[attributes][city]=London",
      "filter[email]=ada@acme.example",
      "filter[name]=ada lovelace",
    ];
    expect(await named(parts.join("&"))).toEqual(["Ada Lovelace"]);
    expect(await named([...parts, "filter[tag]=none"].slice(2).join("&"))).toEqual([]);
    for (const sort of SORTS) expect(await named(`sort=-${sort}&${parts.join("&")}`)).toEqual(["Ada Lovelace"]);
  });

  test("takes fractions of a score", async () => {
    const { body } = await people.list("sort=-score&limit=1&fields=score");
    const { score } = body.data[0];
    expect(await named(`filter[score][gt]=${score - 0.5}`)).toEqual(["Ada Lovelace"]);
    expect(await named(`filter[score][gt]=${score}`)).toEqual([]);
    expect(await named(`filter[score][lt]=${score + 0.5}`)).toEqual(ALL);
    expect((await named(`filter[score][lt]=${score}`)).length).toBe(3);
  });

  test.each([
    ["filter=abc", "'filter' is not valid: takes no value itself; say which part is meant, as in filter[…]=…"],
    ["filter[score]=5", /'filter.score' is not valid: takes no value itself; .* filter\[score\]\[…\]/],
    ["filter[score][gt]=abc", "'filter.score.gt' is not valid: must be a number such as 20, not 'abc'"],
    ["filter[score][gt]=1e9", /must be a number such as 20, not '1e9'/],
    ["filter[score][gt]=NaN", /must be a number/],
    ["filter[score][gt]=1&filter[score][gt]=2", "'filter.score.gt' is not valid: was given 2 times; give it once"],
    ["filter[score][gt][x]=1", /takes one value, without a name in brackets/],
    ["filter[score][eq]=5", /'filter.score.eq' is not valid: This field is not known here/],
    ["filter[nothing]=1", /'filter.nothing' is not valid: This field is not known here/],
    ["filter[constructor]=1", /'filter.constructor' is not valid: This field is not known here/],
    ["constructor=1", /'constructor' is not valid: This field is not known here/],
    ["filter[tag]=a&filter[tag]=b", "'filter.tag' is not valid: was given 2 times; give it once"],
    ["filter[tag]=", /'filter.tag' is not valid/],
    ["filter[tag]=%00", /NUL/],
    ["filter[email]=%00", /NUL/],
    ["filter[domain]=%00", /NUL/],
    ["filter[name]=%00", /NUL/],
    ["q=%00", /NUL/],
    ["q=", /'q' is not valid/],
    ["q=%20%20", /'q' is not valid/],
    [`q=${"a".repeat(201)}`, /'q' is not valid/],
    ["filter[attributes][city]=%00", /NUL/],
    ["filter[attributes]=x", /takes no value itself/],
    ["filter[attributes][city][x]=1", /takes one value, without a name in brackets/],
    ["filter[attributes][city]=a&filter[attributes][city]=b", /was given 2 times; give it once/],
    ["filter[company_id]=abc", "'filter.company_id' is not valid: must be a UUID"],
    ["filter[company_id]=", /must be a UUID/],
    ["__proto__=1", "The key '__proto__' is not accepted."],
    ["__proto__[limit]=1", "The key '__proto__' is not accepted."],
    ["filter[__proto__]=1", "The key '__proto__' is not accepted."],
    ["filter[attributes][__proto__]=1", "The key '__proto__' is not accepted."],
    ["filter[attributes][__p%72oto__]=1", "The key '__proto__' is not accepted."],
    ["filter%5B%5f_proto__%5D=1", "The key '__proto__' is not accepted."],
    ["nothing=1", /'nothing' is not valid: This field is not known here/],
  ])("?%s is refused with words that help", async (query, message) => {
    expectProblem(await people.list(query), 422, "validation_failed", message);
  });

  test("with '__proto__' in its value is a filter like any other", async () => {
    expect(await named("filter[tag]=__proto__&q=__proto__")).toEqual([]);
  });

  test("is 400 when it is nested too deep or has too many parts", async () => {
    expectProblem(await people.list("filter[attributes][a][b][c]=1"), 400, "invalid_request", /more than 3 deep/);
    const many = Array.from({ length: 101 }, (_, index) => `filter[attributes][a${index}]=1`).join("&");
    expectProblem(await people.list(many), 400, "invalid_request", /more than 100 parameters/);
  });

  test("that has the words of SQL in it is text like any other", async () => {
    for (const text of ["'; DROP TABLE people; --", "' OR '1'='1", "$1", "%' OR true --", "\\"]) {
      const value = encodeURIComponent(text);
      for (const key of [
        "q",
        "filter[tag]",
        "filter[email]",
        "filter[domain]",
        "filter[name]",
        "filter[attributes][a]",
      ]) {
        const reply = await people.list(`${key}=${value}`);
        expect([reply.status, namesIn(reply).filter((name) => !name?.includes("\\"))], `${key}=${text}`).toEqual([
          200,
          [],
        ]);
      }
    }
    expect(namesIn(await people.list())).toHaveLength(4);
  });
});
