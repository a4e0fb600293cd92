import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { loadConfiguration, startQuayside } from "@quayside/server";
import pino from "pino";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { expectCoded } from "../support/expect-errors.ts";
import { roomInThisMinute } from "../support/minute.ts";
import { ADMIN, SECRETS, startTestQuayside, type TestQuayside } from "../support/quayside.ts";
import { connectTo } from "../support/sql.ts";
import { until } from "../support/until.ts";

let quayside: TestQuayside;
let sql: ReturnType<typeof connectTo>;

beforeAll(async () => {
  quayside = await startTestQuayside({}, "api");
  sql = connectTo(quayside.databaseUrl);
});

afterAll(async () => {
  await sql?.end();
  await quayside?.stop();
});

const logIn = (body: unknown) => quayside.call("POST", "/-/v1/login", { body });
const whoAmI = (token: string) => quayside.call("GET", "/api/v1/whoami", { token });
/** Every process refuses a revoked credential within a second. */
const refusal = (token: string) =>
  until(
    "the credential is refused",
    async () => {
      const reply = await whoAmI(token);
      return reply.status === 200 ? null : reply;
    },
    1_000,
  );

describe("signing in", () => {
  test("answers a token for 7 days, the user, and the same token as a cookie", async () => {
    const before = Date.now();
    const reply = await logIn(ADMIN);
    expect(reply.status).toBe(200);
    expect(reply.body).toEqual({
      token: expect.stringMatching(/^qss_[0-9a-f]{32}\.[A-Za-z0-9_-]{43}$/),
      expiresAt: expect.any(String),
      user: { id: expect.any(Number), name: "admin", superAdmin: true },
    });
    const lifetime = Date.parse(reply.body.expiresAt) - before;
    expect(lifetime).toBeGreaterThanOrEqual(7 * 86_400_000);
    expect(lifetime).toBeLessThan(7 * 86_400_000 + 60_000);
    const [cookie, ...more] = reply.headers.getSetCookie();
    expect(more).toEqual([]);
    const expires = new Date(reply.body.expiresAt).toUTCString();
    expect(cookie).toBe(`registry_session=${reply.body.token}; Path=/; Expires=${expires}; HttpOnly; SameSite=Lax`);
  });

  test("answers the same 401 to a wrong password and to a name that nobody has", async () => {
    const wrong = await logIn({ username: ADMIN.username, password: "not the password" });
    const nobody = await logIn({ username: "nobody", password: "not the password" });
    expectCoded(wrong, 401, "invalid_credentials", "The user name or password is wrong.");
    expect(nobody.body).toEqual(wrong.body);
    expect(nobody.status).toBe(401);
    expect(wrong.headers.getSetCookie()).toEqual([]);
  });

  test("refuses an account without a password and a disabled one", async () => {
    const headers = { authorization: `Bearer ${quayside.adminToken}` };
    await quayside.call("POST", "/api/v1/admin/users", { headers, body: { name: "keyless" } });
    expectCoded(await logIn({ username: "keyless", password: ADMIN.password }), 401, "invalid_credentials");
    const { token, userId } = await quayside.signUp("leaver");
    await sql`UPDATE users SET disabled_at = now() WHERE id = ${userId}`;
    expectCoded(await logIn({ username: "leaver", password: ADMIN.password }), 401, "invalid_credentials");
    expectCoded(await whoAmI(token), 401, "invalid_credentials", "The account is disabled.");
  });

  test.each([
    ["a user name in upper case", { username: "Admin", password: ADMIN.password }],
    ["a user name of 1 character", { username: "a", password: ADMIN.password }],
    ["a password of 7 characters", { username: "admin", password: "1234567" }],
    ["a password of 1,024 characters", { username: "admin", password: "p".repeat(1_024) }],
  ])("answers 401 to %s, which no account can have", async (_, body) => {
    expectCoded(await logIn(body), 401, "invalid_credentials", "The user name or password is wrong.");
  });

  test.each([
    ["nothing", {}, ["username", "password"]],
    ["a user name of 257 characters", { username: "a".repeat(257), password: ADMIN.password }, ["username"]],
    ["a password of 1,025 characters", { username: "admin", password: "p".repeat(1_025) }, ["password"]],
    ["a password with a NUL character", { username: "admin", password: "12345678\u0000" }, ["password"]],
    ["an object as password", { username: "admin", password: { $ne: "" } }, ["password"]],
    ["an unknown field", { ...ADMIN, remember: true }, ["remember"]],
  ])("answers 422 to %s", async (_, body, fields) => {
    const reply = await logIn(body);
    expectCoded(reply, 422, "validation_failed");
    expect(reply.body.issues.map((issue: { field: string }) => issue.field)).toEqual(fields);
  });

  test("records every try in the audit log, without the password", async () => {
    await logIn({ username: "audited", password: "a very secret try" });
    const rows =
      await sql`SELECT action, target, to_jsonb(e)::text AS text FROM audit_events e WHERE target = 'user:audited'`;
    expect(rows.map((row) => row.action)).toEqual(["login.failed"]);
    expect(rows[0]?.text).not.toContain("a very secret try");
  });
});

describe("signing in elsewhere", () => {
  test("answers 403 where single sign-on is the only way", async () => {
    const dataDir = await mkdtemp(join(tmpdir(), "quayside-test-"));
    const env = { ...SECRETS, DATABASE_URL: quayside.databaseUrl, DATA_DIR: dataDir, PORT: "0", APPS_PORT: "0" };
    const configuration = await loadConfiguration({
      projectRoot: dataDir,
      env: { ...env, REGISTRY_AUTH_MODE: "sso", RATE_LIMIT_LOGIN_PER_MINUTE: "1000" },
    });
    const log = pino({ level: "silent" });
    const started = await startQuayside(configuration, "api", { log, requestLog: log }, "0.0.0-test");
    try {
      const response = await fetch(`http://127.0.0.1:${started.port}/-/v1/login`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify(ADMIN),
      });
      expect(response.status).toBe(403);
      expect(await response.json()).toEqual({
        error: "Password login is disabled here; sign in with single sign-on.",
        code: "password_login_disabled",
      });
    } finally {
      await started.stop();
      await rm(dataDir, { recursive: true, force: true });
    }
  });

  test("answers 429 with Retry-After after the allowed tries of an address, right ones counted too", async () => {
    await roomInThisMinute();
    const small = await startTestQuayside({ RATE_LIMIT_LOGIN_PER_MINUTE: "3", TRUSTED_PROXIES: "127.0.0.1" }, "api");
    try {
      const from = (address: string, password = "wrong password") =>
        small.call("POST", "/-/v1/login", {
          body: { ...ADMIN, password },
          headers: { "x-forwarded-for": address },
        });
      const tries = await Promise.all([from("192.0.2.1"), from("192.0.2.1"), from("192.0.2.1", ADMIN.password)]);
      expect(tries.map((reply) => reply.status).sort()).toEqual([200, 401, 401]);
      const stopped = await from("192.0.2.1", ADMIN.password);
      expectCoded(stopped, 429, "rate_limited", "Too many logins from this address: 3 a minute are allowed.");
      expect(Number(stopped.headers.get("retry-after"))).toBeGreaterThan(0);
      expect(Number(stopped.headers.get("retry-after"))).toBeLessThanOrEqual(60);
      expect((await from("192.0.2.2", ADMIN.password)).status).toBe(200);
    } finally {
      await small.stop();
    }
  });

  test("sets the cookie Secure where the address is https", async () => {
    const secure = await startTestQuayside({ BASE_URL: "https://quayside.example" }, "api");
    try {
      const reply = await secure.call("POST", "/-/v1/login", { body: ADMIN });
      expect(reply.headers.getSetCookie()[0]).toMatch(/; HttpOnly; SameSite=Lax; Secure$/);
      expect(reply.headers.get("strict-transport-security")).toBe("max-age=31536000");
    } finally {
      await secure.stop();
    }
  });
});

describe("signing out", () => {
  test("ends the session, clears the cookie, and the token is refused from then on", async () => {
    const { body } = await logIn(ADMIN);
    const reply = await quayside.call("POST", "/-/v1/logout", { token: body.token });
    expect([reply.status, reply.body]).toEqual([200, { ok: true }]);
    expect(reply.headers.getSetCookie()).toEqual(["registry_session=; Path=/; Max-Age=0; HttpOnly; SameSite=Lax"]);
    expectCoded(await refusal(body.token), 401, "invalid_credentials", "The session was revoked.");
    expectCoded(await quayside.call("POST", "/-/v1/logout", { token: body.token }), 401, "invalid_credentials");
  });

  test("leaves the user's other sessions alone", async () => {
    const [one, other] = await Promise.all([logIn(ADMIN), logIn(ADMIN)]);
    await quayside.call("POST", "/-/v1/logout", { token: one.body.token });
    expect((await whoAmI(other.body.token)).status).toBe(200);
  });

  test("revokes the admin key that it came with, and refuses a weaker one", async () => {
    const strong = await quayside.makeKey(quayside.adminToken, { scopes: ["admin"] });
    const weak = await quayside.makeKey(quayside.adminToken, { scopes: ["write"] });
    expect((await quayside.call("POST", "/-/v1/logout", { token: strong.secret })).status).toBe(200);
    expectCoded(await refusal(strong.secret), 401, "invalid_credentials", "The API key was revoked.");
    const refused = await quayside.call("POST", "/-/v1/logout", { token: weak.secret });
    expectCoded(refused, 403, "insufficient_scope");
    // A refused sign-out signs nobody out.
    expect(refused.headers.getSetCookie()).toEqual([]);
    expect((await whoAmI(weak.secret)).status).toBe(200);
  });

  test("answers 401 to a stranger", async () => {
    expectCoded(await quayside.call("POST", "/-/v1/logout"), 401, "sign_in_required");
  });

  test("by cookie is refused with 403 when another site asks, and the session lives on", async () => {
    const { body } = await logIn(ADMIN);
    const cookie = `registry_session=${body.token}`;
    const reply = await quayside.call("POST", "/-/v1/logout", { headers: { cookie, "sec-fetch-site": "cross-site" } });
    expectCoded(reply, 403, "cross_site_request", /must come from this site/);
    expect((await whoAmI(body.token)).status).toBe(200);
  });
});
