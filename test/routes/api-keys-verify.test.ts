import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { generateApiKey, isWellFormedApiKey } from "../../packages/core/src/identity/credentials/secret-formats.ts";
import { expectProblem } from "../support/expect-errors.ts";
import { roomInThisMinute } from "../support/minute.ts";
import { startTestQuayside, type TestQuayside } from "../support/quayside.ts";
import { connectTo } from "../support/sql.ts";
import { until } from "../support/until.ts";

let quayside: TestQuayside;
let sql: ReturnType<typeof connectTo>;
let owner: { token: string; userId: number };

beforeAll(async () => {
  // Requests say through which address they came, so that each test has an address of its own.
  quayside = await startTestQuayside({ TRUSTED_PROXIES: "127.0.0.1" }, "api");
  sql = connectTo(quayside.databaseUrl);
  owner = await quayside.signUp("owner");
});

afterAll(async () => {
  await sql?.end();
  await quayside?.stop();
});

const verify = (body: unknown, from = "192.0.2.1") =>
  quayside.call("POST", "/v1/crm/api-keys/verify", { body, headers: { "x-forwarded-for": from } });

/** The same key with one character of its checksum changed. */
const broken = (key: string) => key.slice(0, -1) + (key.endsWith("0") ? "1" : "0");

describe("verifying a key", () => {
  test("tells a gateway all it needs, with no credential but the key", async () => {
    const { body: me } = await quayside.call("GET", "/api/v1/whoami", { token: owner.token });
    const { id, secret } = await quayside.makeKey(owner.token, { scopes: ["read"] });
    const reply = await verify({ key: secret });
    expect(reply.status).toBe(200);
    expect(reply.body).toEqual({
      userId: me.user.uid,
      apiKeyId: id,
      scopes: ["read"],
      environment: "test",
      plan: "free",
      entitledUntil: null,
      toolAllowlist: null,
      tenantId: null,
      rateLimitOverride: null,
    });
  });

  test("tells plan, tenant, tools and rates where there are any", async () => {
    const rich = await quayside.signUp("rich");
    await sql`INSERT INTO entitlements (user_uid, plan, entitled_until, source)
      SELECT uid, 'team', '2099-01-01T00:00:00Z', 'test' FROM users WHERE id = ${rich.userId}`;
    const { body: me } = await quayside.call("GET", "/api/v1/whoami", { token: rich.token });
    const fields = { toolAllowlist: ["crm.*"], rateLimitOverride: { read: 9 }, tenantId: me.organization.id };
    const { secret } = await quayside.makeKey(rich.token, { ...fields, environment: "live" });
    const { status, body } = await verify({ key: secret });
    expect(status).toBe(200);
    expect(body).toMatchObject({
      ...fields,
      environment: "live",
      plan: "team",
      entitledUntil: "2099-01-01T00:00:00.000Z",
    });
  });

  test("refuses a key with a wrong checksum", async () => {
    const { secret } = await quayside.makeKey(owner.token);
    const reply = await verify({ key: broken(secret) });
    expectProblem(reply, 401, "invalid_credentials", "The API key is malformed: its form or checksum is wrong.");
  });

  test("refuses a well-formed key that nobody made", async () => {
    const reply = await verify({ key: generateApiKey("live").secret });
    expectProblem(reply, 401, "invalid_credentials", "The API key is not known.");
  });

  test("refuses an expired key", async () => {
    const { id, secret } = await quayside.makeKey(owner.token);
    await sql`UPDATE api_keys SET expires_at = now() - interval '1 second' WHERE id = ${id}`;
    expectProblem(await verify({ key: secret }), 401, "invalid_credentials", "The API key has expired.");
  });

  test("refuses a revoked key within a second", async () => {
    const { id, secret } = await quayside.makeKey(owner.token);
    expect((await verify({ key: secret })).status).toBe(200);
    await quayside.call("DELETE", `/v1/crm/api-keys/${id}`, { token: owner.token });
    await until("the key is refused", async () => (await verify({ key: secret })).status === 401, 1_000);
    expectProblem(await verify({ key: secret }), 401, "invalid_credentials", "The API key was revoked.");
  });

  test("refuses the key of a disabled account", async () => {
    const gone = await quayside.signUp("gone");
    const { secret } = await quayside.makeKey(gone.token);
    await sql`UPDATE users SET disabled_at = now() WHERE id = ${gone.userId}`;
    expectProblem(await verify({ key: secret }), 401, "invalid_credentials", "The account is disabled.");
  });

  test("refuses a session token, which is no API key", async () => {
    expectProblem(await verify({ key: owner.token }), 401, "invalid_credentials", /malformed/);
  });

  test.each([
    ["no key", {}],
    ["an empty key", { key: "" }],
    ["a key of 257 characters", { key: "k".repeat(257) }],
    ["a number", { key: 7 }],
    ["an unknown field", { key: "k", more: true }],
  ])("answers 422 to %s", async (_, body) => {
    expectProblem(await verify(body), 422, "validation_failed");
  });

  test("stops an address after 120 refused keys, and only that address", async () => {
    await roomInThisMinute();
    const { secret } = await quayside.makeKey(owner.token);
    const { secret: wrong } = generateApiKey("test");
    const guesses = await Promise.all(Array.from({ length: 119 }, () => verify({ key: wrong }, "192.0.2.99")));
    expect(guesses.filter((guess) => guess.status === 401)).toHaveLength(119);
    // What succeeds is not counted.
    expect((await verify({ key: secret }, "192.0.2.99")).status).toBe(200);
    expectProblem(await verify({ key: broken(wrong) }, "192.0.2.99"), 401, "invalid_credentials");
    const stopped = await verify({ key: wrong }, "192.0.2.99");
    expectProblem(stopped, 429, "rate_limited", /Too many refused keys from this address/);
    expect(Number(stopped.headers.get("retry-after"))).toBeGreaterThan(0);
    expect(Number(stopped.headers.get("retry-after"))).toBeLessThanOrEqual(60);
    expectProblem(await verify({ key: wrong }, "192.0.2.100"), 401, "invalid_credentials");
  });
});

describe("the form of a key", () => {
  test("is checked by its checksum, so that a typing error costs no query", () => {
    const { secret } = generateApiKey("live");
    expect(isWellFormedApiKey(secret)).toBe(true);
    for (let at = 0; at < secret.length; at += 1) {
      const typo = secret.slice(0, at) + (secret[at] === "x" ? "y" : "x") + secret.slice(at + 1);
      expect(isWellFormedApiKey(typo), `character ${at}`).toBe(false);
    }
  });

  test.each(["", "qs_", "qs_live_", `qs_live_${"0".repeat(49)}`, `qs_prod_${"0".repeat(49)}`])(
    "is not that of '%s'",
    (text) => expect(isWellFormedApiKey(text)).toBe(false),
  );

  test("allows neither more nor less nor anything around it", () => {
    const { secret } = generateApiKey("dev");
    for (const text of [`${secret}0`, secret.slice(0, -1), ` ${secret}`, `${secret}\n`, secret.toUpperCase()]) {
      expect(isWellFormedApiKey(text)).toBe(false);
    }
  });

  test("has 43 random characters, which never come twice", () => {
    const keys = Array.from({ length: 1_000 }, () => generateApiKey("test").secret.slice(8, 51));
    expect(new Set(keys).size).toBe(1_000);
    expect(new Set(keys.join(""))).toHaveProperty("size", 62);
  });
});
