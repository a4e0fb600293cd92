import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { mutate } from "../support/call-procedure.ts";
import { expectProblem } from "../support/expect-errors.ts";
import { type Owner, signUpOwner, walkPages } from "../support/organizations.ts";
import { startTestQuayside, type TestQuayside } from "../support/quayside.ts";
import { connectTo } from "../support/sql.ts";
import { until } from "../support/until.ts";

let quayside: TestQuayside;
let sql: ReturnType<typeof connectTo>;
let owner: Owner;
let stranger: Owner;
let walker: Owner;

beforeAll(async () => {
  quayside = await startTestQuayside({}, "api");
  sql = connectTo(quayside.databaseUrl);
  [owner, stranger, walker] = await Promise.all([
    signUpOwner(quayside, "owner"),
    signUpOwner(quayside, "stranger"),
    signUpOwner(quayside, "walker"),
  ]);
});

afterAll(async () => {
  await sql?.end();
  await quayside?.stop();
});

const list = (query = "", token = owner.token) => quayside.call("GET", `/v1/crm/companies${query}`, { token });
const create = (input: unknown, token = owner.token) => mutate(quayside, "crm.companies.create", input, token);
const remove = (id: string, token = owner.token) => mutate(quayside, "crm.companies.delete", { id }, token);
const search = async (q: string, token = owner.token) => {
  const reply = await list(`?q=${encodeURIComponent(q)}`, token);
  expect(reply.status, reply.text).toBe(200);
  return reply.body.data.map((company: { name: string }) => company.name) as string[];
};

async function made(input: object = {}, by = owner): Promise<{ id: string }> {
  const reply = await create({ name: "Acme", ...input }, by.token);
  expect(reply.status, reply.text).toBe(200);
  return reply.body;
}

describe("searching", () => {
  beforeAll(async () => {
    await made({ name: "Müller & Söhne GmbH", domain: "mueller-soehne.example" }, stranger);
    await made({ name: "100% Organic_Foods", domain: "organic.example" }, stranger);
    await made({ name: "Back\\slash Ltd" }, stranger);
    await made({ name: "日本電気" }, stranger);
    await made({ name: "شركة النور 🌟" }, stranger);
  });

  test.each([
    ["söhne", ["Müller & Söhne GmbH"]],
    ["SÖHNE", ["Müller & Söhne GmbH"]],
    ["MUELLER-", ["Müller & Söhne GmbH"]],
    ["ganic.exa", ["100% Organic_Foods"]],
    ["0% o", ["100% Organic_Foods"]],
    ["%", ["100% Organic_Foods"]],
    ["_", ["100% Organic_Foods"]],
    ["k\\s", ["Back\\slash Ltd"]],
    ["\\", ["Back\\slash Ltd"]],
    ["日", ["日本電気"]],
    ["本電", ["日本電気"]],
    ["النور", ["شركة النور 🌟"]],
    ["🌟", ["شركة النور 🌟"]],
    ["  gmbh  ", ["Müller & Söhne GmbH"]],
    ["muller", []],
    ["' OR 1=1 --", []],
  ])("finds %s in name or domain, whatever the case", async (q, names) => {
    expect(await search(q, stranger.token)).toEqual(names);
  });

  test("for what is rare goes by the index, not through the whole organization", async () => {
    const searcher = await signUpOwner(quayside, "searcher");
    await sql`INSERT INTO companies (organization_id, id, name)
      SELECT ${searcher.organizationId}, gen_random_uuid(), 'Common ' || n FROM generate_series(1, 5000) AS n`;
    await made({ name: "Uncommonly Rare" }, searcher);
    await sql`ANALYZE companies`;
    const scans = async () => {
      const [row] = await sql`SELECT idx_scan::int AS scans FROM pg_stat_user_indexes
        WHERE indexrelname = 'companies_text_idx'`;
      return row?.scans as number;
    };
    const before = await scans();
    await until("the index is used", async () => {
      expect(await search("only rare", searcher.token)).toEqual(["Uncommonly Rare"]);
      return (await scans()) > before;
    });
  });

  test("finds nothing of another organization", async () => {
    expect(await search("söhne")).toEqual([]);
  });
});

describe("the list", () => {
  test("is empty for a new organization", async () => {
    const { token } = await quayside.signUp("newcomer");
    const reply = await list("", token);
    expect([reply.status, reply.body]).toEqual([200, { data: [], next_cursor: null }]);
  });

  test("has 50 companies a page unless told otherwise, and 200 at most", async () => {
    await sql`INSERT INTO companies (organization_id, id, name)
      SELECT ${walker.organizationId}, gen_random_uuid(), 'Many' FROM generate_series(1, 201)`;
    const sizes = await Promise.all(["", "?limit=1", "?limit=200"].map((query) => list(query, walker.token)));
    expect(sizes.map(({ body }) => body.data.length)).toEqual([50, 1, 200]);
    expect(sizes.every(({ body }) => typeof body.next_cursor === "string")).toBe(true);
  });

  test("is walked by cursors in its order, without gaps or doubles", async () => {
    const id = fc.uuid();
    // Few times, close to each other, so that many rows share one and others differ by a microsecond only.
    const at = fc.integer({ min: 0, max: 3 }).map((micros) => `2026-01-01 00:00:00.00000${micros}+00`);
    const name = fc.constantFrom("North One", "South Two", "north three");
    const rows = fc.uniqueArray(fc.record({ id, at, name }), { selector: (row) => row.id, maxLength: 25 });
    const query = fc.constantFrom("", "&q=north", "&q=o");
    await fc.assert(
      fc.asyncProperty(rows, fc.integer({ min: 1, max: 10 }), query, async (companies, limit, filter) => {
        await sql`DELETE FROM companies WHERE organization_id = ${walker.organizationId}`;
        for (const row of companies) {
          await sql`INSERT INTO companies (organization_id, id, name, created_at)
            VALUES (${walker.organizationId}, ${row.id}, ${row.name}, ${row.at}::text::timestamptz)`;
        }
        const expected = await sql`SELECT id FROM companies WHERE organization_id = ${walker.organizationId}
          AND (${filter} <> '&q=north' OR name ILIKE '%north%') ORDER BY created_at DESC, id DESC`;
        expect(await walkPages((page) => list(page, walker.token), `limit=${limit}${filter}`)).toEqual(
          expected.map((row) => row.id),
        );
      }),
      { numRuns: 20 },
    );
  });

  test("goes on where it was, though companies come and go meanwhile", async () => {
    await sql`DELETE FROM companies WHERE organization_id = ${walker.organizationId}`;
    const ids = [];
    for (const name of ["a", "b", "c", "d"]) ids.unshift((await made({ name }, walker)).id);
    const first = await list("?limit=2", walker.token);
    await made({ name: "newest" }, walker);
    await remove(ids[1] ?? "", walker.token);
    const rest = await list(`?limit=2&cursor=${first.body.next_cursor}`, walker.token);
    expect(rest.body.data.map((company: { id: string }) => company.id)).toEqual(ids.slice(2));
    expect(rest.body.next_cursor).toBeNull();
  });
});

describe("a cursor", () => {
  let cursor: string;

  beforeAll(async () => {
    for (const name of ["Cursor one", "Cursor two", "Cursor three"]) await made({ name });
    cursor = (await list("?limit=1&q=cursor")).body.next_cursor;
  });

  test("belongs to its q, list and organization", async () => {
    expect((await list(`?q=cursor&cursor=${cursor}`)).status).toBe(200);
    for (const reply of [
      await list(`?cursor=${cursor}`),
      await list(`?q=other&cursor=${cursor}`),
      await list(`?q=cursor&cursor=${cursor}`, stranger.token),
      await quayside.call("GET", `/v1/crm/campaigns?q=cursor&cursor=${cursor}`, { token: owner.token }),
    ]) {
      expectProblem(reply, 422, "invalid_cursor", /begin again without a cursor/);
      expect(reply.body.errors[0].field).toBe("cursor");
    }
  });

  test("may go on with another page size", async () => {
    const reply = await list(`?limit=200&q=cursor&cursor=${cursor}`);
    expect(reply.body.data).toHaveLength(2);
  });

  test("that was changed, cut or made up is 422", async () => {
    const flipped = `${cursor.slice(0, 30)}${cursor[30] === "A" ? "B" : "A"}${cursor.slice(31)}`;
    for (const bad of [flipped, cursor.slice(0, -4), `${cursor}AAAA`, "abc", "%F0%9F%8F%A2", "a.b", "__proto__"]) {
      expectProblem(await list(`?q=cursor&cursor=${bad}`), 422, "invalid_cursor");
    }
  });

  test("that is empty or endless is 422", async () => {
    expectProblem(await list("?cursor="), 422, "validation_failed");
    expectProblem(await list(`?cursor=${"A".repeat(5_000)}`), 422, "validation_failed");
  });
});

describe("a bad query", () => {
  test.each([
    ["limit=0", "limit"],
    ["limit=201", "limit"],
    ["limit=-1", "limit"],
    ["limit=1.5", "limit"],
    ["limit=ten", "limit"],
    ["limit=", "limit"],
    ["limit=9999999999999999999", "limit"],
    ["limit=1&limit=2", "limit"],
    ["limit[a]=1", "limit"],
    ["q=", "q"],
    ["q=%20%20", "q"],
    ["q=a&q=b", "q"],
    ["q[a]=b", "q"],
    ["q=%00", "q"],
    ["cursor=a&cursor=b", "cursor"],
    ["colour=red", "colour"],
  ])("?%s is 422 and names the parameter", async (query, field) => {
    const reply = await list(`?${query}`);
    expectProblem(reply, 422, "validation_failed");
    expect(new Set(reply.body.errors.map((issue: { field: string }) => issue.field))).toEqual(new Set([field]));
  });

  test("with a q of 201 characters is 422", async () => {
    expectProblem(await list(`?q=${"x".repeat(201)}`), 422, "validation_failed", /'q' is not valid/);
    expect((await list(`?q=${"x".repeat(200)}`)).status).toBe(200);
  });

  test("?__proto__[limit]=1 is 422", async () => {
    expectProblem(await list("?__proto__[limit]=1"), 422, "validation_failed");
  });
});
