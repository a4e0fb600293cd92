import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { expectProblem } from "../support/expect-errors.ts";
import { startTestQuayside, type TestQuayside } from "../support/quayside.ts";
import { connectTo } from "../support/sql.ts";

const GATEWAY_SECRET = "gateway-secret-for-tests-only-00";
const PATH = "/v1/crm/internal/api-usage";
const DAY_MS = 86_400_000;

let quayside: TestQuayside;
let sql: ReturnType<typeof connectTo>;
let owner: { token: string; userId: number };

beforeAll(async () => {
  quayside = await startTestQuayside({ GATEWAY_SECRET }, "api");
  sql = connectTo(quayside.databaseUrl);
  owner = await quayside.signUp("owner");
  await sql`INSERT INTO entitlements (user_uid, plan, source) SELECT uid, 'pro', 'test' FROM users WHERE id = ${owner.userId}`;
});

afterAll(async () => {
  await sql?.end();
  await quayside?.stop();
});

const headers = { authorization: `Bearer ${GATEWAY_SECRET}` };
const summary = (query = "") => quayside.call("GET", `${PATH}/summary${query}`, { headers });
const today = () => Date.now() - (Date.now() % DAY_MS);
const dayBefore = (days: number) => new Date(today() - days * DAY_MS).toISOString();

describe("the summary", () => {
  test("of nothing is zero, over 30 days by default", async () => {
    const { status, body } = await summary();
    expect(status).toBe(200);
    expect(body).toEqual({ days: 30, since: dayBefore(29), liveKeys: 0, requests: 0, errors: 0, activeKeys: 0 });
  });

  test("counts usage of the days and the keys that had any", async () => {
    const [first, second, idle] = await Promise.all([1, 2, 3].map(() => quayside.makeKey(owner.token)));
    const entries = [
      { apiKeyId: first?.id, hour: dayBefore(0), requests: 1, errors: 1 },
      { apiKeyId: first?.id, hour: dayBefore(1), requests: 20 },
      { apiKeyId: second?.id, hour: dayBefore(2), requests: 300, errors: 30 },
      { apiKeyId: idle?.id, hour: dayBefore(0), requests: 0 },
    ];
    expect((await quayside.call("POST", PATH, { headers, body: { entries } })).body).toEqual({ written: 4 });
    expect((await summary("?days=1")).body).toMatchObject({
      days: 1,
      since: dayBefore(0),
      requests: 1,
      errors: 1,
      activeKeys: 1,
    });
    expect((await summary("?days=2")).body).toMatchObject({
      since: dayBefore(1),
      requests: 21,
      errors: 1,
      activeKeys: 1,
    });
    expect((await summary("?days=3")).body).toMatchObject({ requests: 321, errors: 31, activeKeys: 2 });
    expect((await summary("?days=365")).body).toMatchObject({ days: 365, since: dayBefore(364), requests: 321 });
  });

  test("counts live keys that are neither revoked nor expired", async () => {
    const live = () => quayside.makeKey(owner.token, { environment: "live" });
    const [, revoked, expired] = [await live(), await live(), await live()];
    await quayside.makeKey(owner.token, { environment: "dev" });
    await quayside.call("DELETE", `/v1/crm/api-keys/${revoked?.id}`, { token: owner.token });
    await sql`UPDATE api_keys SET expires_at = now() - interval '1 second' WHERE id = ${expired?.id ?? ""}`;
    expect((await summary()).body.liveKeys).toBe(1);
  });

  test.each(["0", "366", "-1", "1.5", "abc", "", "1e2"])("refuses days=%s with 422", async (days) => {
    expectProblem(await summary(`?days=${days}`), 422, "validation_failed", /'days' is not valid/);
  });

  test("refuses an unknown query with 422", async () => {
    expectProblem(await summary("?day=1"), 422, "validation_failed");
  });

  test("is for the gateway only", async () => {
    const ask = (given: Record<string, string>) => quayside.call("GET", `${PATH}/summary?days=x`, { headers: given });
    expectProblem(await ask({}), 401, "sign_in_required");
    expectProblem(await ask({ authorization: "Bearer wrong" }), 401, "invalid_credentials");
    expectProblem(await ask({ authorization: `Bearer ${quayside.adminToken}` }), 401, "invalid_credentials");
  });
});
