import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createTestDatabase } from "../support/database.ts";
import { expectProblem } from "../support/expect-errors.ts";
import { startTestQuayside, type TestQuayside } from "../support/quayside.ts";
import { connectTo } from "../support/sql.ts";

const DAY_MS = 86_400_000;
const GATEWAY_SECRET = "gateway-secret-for-tests-only-00";

// A database far from Greenwich, where a day that is not cut in UTC shows at once.
let database: Awaited<ReturnType<typeof createTestDatabase>>;
let quayside: TestQuayside;
let sql: ReturnType<typeof connectTo>;
let owner: { token: string };

beforeAll(async () => {
  database = await createTestDatabase();
  sql = connectTo(database.url);
  await sql.unsafe(`ALTER DATABASE ${new URL(database.url).pathname.slice(1)} SET timezone TO 'Pacific/Auckland'`);
  quayside = await startTestQuayside({ DATABASE_URL: database.url, GATEWAY_SECRET }, "api");
  owner = await quayside.signUp("owner");
});

afterAll(async () => {
  await sql?.end();
  await quayside?.stop();
  await database?.drop();
});

const usageOf = (id: string, query = "", token = owner.token) =>
  quayside.call("GET", `/v1/crm/api-keys/${id}/usage${query}`, { token });
const today = () => new Date(Date.now() - (Date.now() % DAY_MS));
const dayBefore = (days: number) => new Date(today().getTime() - days * DAY_MS).toISOString().slice(0, 10);
const store = (apiKeyId: string, hour: string, requests: number, errors: number) =>
  quayside.call("POST", "/v1/crm/internal/api-usage", {
    headers: { authorization: `Bearer ${GATEWAY_SECRET}` },
    body: { entries: [{ apiKeyId, hour, requests, errors }] },
  });

describe("usage of a key", () => {
  test("covers 30 days by default, oldest first, days without requests as zero", async () => {
    const { id } = await quayside.makeKey(owner.token);
    const { status, body } = await usageOf(id);
    expect(status).toBe(200);
    expect(body).toEqual({ keyId: id, days: 30, usage: expect.any(Array) });
    const expected = Array.from({ length: 30 }, (_, i) => ({ day: dayBefore(29 - i), requests: 0, errors: 0 }));
    expect(body.usage).toEqual(expected);
  });

  test("sums the hours of each UTC day, the first and the last hour included", async () => {
    const { id } = await quayside.makeKey(owner.token);
    await store(id, `${dayBefore(2)}T23:00:00Z`, 1_000, 0);
    await store(id, `${dayBefore(1)}T00:00:00Z`, 1, 1);
    await store(id, `${dayBefore(1)}T12:00:00Z`, 20, 3);
    await store(id, `${dayBefore(1)}T23:00:00Z`, 300, 0);
    await store(id, `${dayBefore(0)}T00:00:00Z`, 4_000, 40);
    const { body } = await usageOf(id, "?days=2");
    expect(body.usage).toEqual([
      { day: dayBefore(1), requests: 321, errors: 4 },
      { day: dayBefore(0), requests: 4_000, errors: 40 },
    ]);
  });

  test.each([
    [1, 0],
    [365, 364],
  ])("takes days=%i, which begins %i days ago", async (days, first) => {
    const { id } = await quayside.makeKey(owner.token);
    const { status, body } = await usageOf(id, `?days=${days}`);
    expect([status, body.days, body.usage.length]).toEqual([200, days, days]);
    expect([body.usage[0].day, body.usage.at(-1).day]).toEqual([dayBefore(first), dayBefore(0)]);
  });

  test.each(["0", "366", "-1", "1.5", "abc", "", "1e2", "0x10", "9999999999999999999"])(
    "refuses days=%s with 422",
    async (days) => {
      const { id } = await quayside.makeKey(owner.token);
      const reply = await usageOf(id, `?days=${days}`);
      expectProblem(reply, 422, "validation_failed", /'days' is not valid/);
    },
  );

  test("refuses the same query key twice and an unknown one with 422", async () => {
    const { id } = await quayside.makeKey(owner.token);
    expectProblem(await usageOf(id, "?days=1&days=2"), 422, "validation_failed", /'days' is not valid/);
    const unknown = await usageOf(id, "?day=1");
    expectProblem(unknown, 422, "validation_failed");
    expect(unknown.body.errors).toEqual([
      { field: "day", code: "unrecognized_keys", message: "This field is not known here." },
    ]);
  });

  test("of a revoked key can still be read", async () => {
    const { id } = await quayside.makeKey(owner.token);
    await store(id, `${dayBefore(0)}T00:00:00Z`, 7, 0);
    await quayside.call("DELETE", `/v1/crm/api-keys/${id}`, { token: owner.token });
    const { status, body } = await usageOf(id, "?days=1");
    expect([status, body.usage[0].requests]).toEqual([200, 7]);
  });

  test("is for the owner only: anybody else's key is 404", async () => {
    const { id } = await quayside.makeKey(owner.token);
    const stranger = await quayside.signUp("stranger");
    expectProblem(await usageOf(id, "", stranger.token), 404, "not_found", `No API key of yours has the id ${id}.`);
    expectProblem(await usageOf("not-a-uuid"), 404, "not_found");
    expectProblem(await quayside.call("GET", `/v1/crm/api-keys/${id}/usage`), 401, "sign_in_required");
    const { secret } = await quayside.makeKey(owner.token, { scopes: ["write"] });
    expectProblem(await usageOf(id, "", secret), 403, "insufficient_scope");
  });
});
