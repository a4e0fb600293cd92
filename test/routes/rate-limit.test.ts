import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { expectEnvelope, expectProblem } from "../support/expect-errors.ts";
import { roomInThisMinute } from "../support/minute.ts";
import { startTestQuayside, type TestQuayside } from "../support/quayside.ts";

let quayside: TestQuayside;
let owner: { token: string };

beforeAll(async () => {
  const limits = { RATE_LIMIT_KEY_READ_PER_MINUTE: "11", RATE_LIMIT_KEY_WRITE_PER_MINUTE: "5" };
  quayside = await startTestQuayside({ ...limits, RATE_LIMIT_KEY_ADMIN_PER_MINUTE: "2" }, "api");
  owner = await quayside.signUp("owner");
});

afterAll(() => quayside?.stop());

beforeEach(roomInThisMinute, 10_000);

const read = (token: string) => quayside.call("GET", "/v1/crm/stats", { token });

describe("an API key's rate", () => {
  test("is told with every answer, and is its rateLimitOverride where it has one", async () => {
    const { secret } = await quayside.makeKey(owner.token, { rateLimitOverride: { read: 3 } });
    for (const remaining of [2, 1, 0]) {
      const reply = await read(secret);
      expect(reply.status).toBe(200);
      expect(reply.headers.get("ratelimit-policy")).toBe('"read";q=3;w=60');
      expect(reply.headers.get("ratelimit")).toMatch(new RegExp(`^"read";r=${remaining};t=([1-9]|[1-5]\\d|60)$`));
    }
    const stopped = await read(secret);
    expectProblem(stopped, 429, "rate_limited", "This API key may make 3 'read' requests a minute.");
    expect(stopped.headers.get("ratelimit-policy")).toBe('"read";q=3;w=60');
    expect(stopped.headers.get("ratelimit")).toMatch(/^"read";r=0;t=\d+$/);
    const seconds = Number(stopped.headers.get("retry-after"));
    expect(seconds).toBeGreaterThan(0);
    expect(seconds).toBeLessThanOrEqual(60);
  });

  test.each([
    ["read", 11, "GET", "/api/projects", 200],
    ["write", 5, "POST", "/api/projects", 201],
    ["admin", 2, "GET", "/v1/crm/api-keys", 200],
  ])("of scope %s is %i a minute by default", async (scope, limit, method, path, status) => {
    const { secret } = await quayside.makeKey(owner.token, { scopes: ["admin"] });
    const body = method === "POST" ? { body: { name: "limited" } } : {};
    for (let remaining = limit - 1; remaining >= 0; remaining -= 1) {
      const reply = await quayside.call(method, path, { token: secret, ...body });
      expect([reply.status, reply.headers.get("ratelimit-policy")]).toEqual([status, `"${scope}";q=${limit};w=60`]);
    }
    expect((await quayside.call(method, path, { token: secret, ...body })).status).toBe(429);
  });

  test("holds for all of many requests at once", async () => {
    const { secret } = await quayside.makeKey(owner.token, { rateLimitOverride: { read: 4 } });
    const replies = await Promise.all(Array.from({ length: 20 }, () => read(secret)));
    expect(replies.filter((reply) => reply.status === 200)).toHaveLength(4);
    expect(replies.filter((reply) => reply.status === 429)).toHaveLength(16);
  });

  test("is counted by key and by scope: others go on", async () => {
    const limited = await quayside.makeKey(owner.token, { rateLimitOverride: { read: 1 } });
    const other = await quayside.makeKey(owner.token);
    expect((await read(limited.secret)).status).toBe(200);
    expect((await read(limited.secret)).status).toBe(429);
    expect((await read(other.secret)).status).toBe(200);
    const write = await quayside.call("POST", "/api/projects", { token: limited.secret, body: { name: "still" } });
    expect(write.status).toBe(201);
    const refused = await quayside.call("GET", "/api/projects", { token: limited.secret });
    expectEnvelope(refused, 429, "rate_limited", "This API key may make 1 'read' requests a minute.");
  });

  test("counts the same over tRPC", async () => {
    const { secret } = await quayside.makeKey(owner.token, { rateLimitOverride: { read: 1 } });
    expect((await read(secret)).status).toBe(200);
    const reply = await quayside.call("GET", "/trpc/crm.stats", { token: secret });
    expect([reply.status, reply.body.error.data.errorCode]).toEqual([429, "rate_limited"]);
    expect(reply.body.error.data.retryAfterMs).toBeGreaterThan(0);
  });
});

test("a session has no rate, and none is told", async () => {
  for (let i = 0; i < 15; i += 1) {
    const reply = await read(owner.token);
    expect([reply.status, reply.headers.get("ratelimit"), reply.headers.get("ratelimit-policy")]).toEqual([
      200,
      null,
      null,
    ]);
  }
});
