import { createHmac } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { generateApiKey } from "../../packages/core/src/identity/credentials/secret-formats.ts";
import { expectCoded, expectEnvelope } from "../support/expect-errors.ts";
import { SECRETS, startTestQuayside, type TestQuayside } from "../support/quayside.ts";
import { connectTo } from "../support/sql.ts";
import { until } from "../support/until.ts";

const ALL = ["admin", "write", "read"];

let quayside: TestQuayside;
let sql: ReturnType<typeof connectTo>;
let user: { token: string; userId: number };

beforeAll(async () => {
  quayside = await startTestQuayside({}, "api");
  sql = connectTo(quayside.databaseUrl);
  user = await quayside.signUp("dev");
});

afterAll(async () => {
  await sql?.end();
  await quayside?.stop();
});

const whoAmI = (headers: Record<string, string>) => quayside.call("GET", "/api/v1/whoami", { headers });
const bearer = (token: string) => ({ authorization: `Bearer ${token}` });
const issueJwt = async () => {
  const reply = await quayside.call("POST", "/trpc/identity.sessions.issueJwt", { token: user.token, body: {} });
  expect(reply.status).toBe(200);
  return reply.body.result.data.token as string;
};

describe("who the caller is", () => {
  test("by session token", async () => {
    const reply = await whoAmI(bearer(user.token));
    expect(reply.status).toBe(200);
    expect(reply.body).toEqual({
      user: { id: user.userId, uid: expect.stringMatching(/^[0-9a-f-]{36}$/), name: "dev", superAdmin: false },
      organization: { id: expect.stringMatching(/^[0-9a-f-]{36}$/), slug: "dev" },
      scopes: ALL,
      permissions: ["read", "publish", "unpublish"],
      via: { kind: "session", id: expect.stringMatching(/^[0-9a-f-]{36}$/) },
    });
  });

  test("by session cookie, among other cookies", async () => {
    const { status, body } = await whoAmI({ cookie: `theme=dark; registry_session=${user.token}; a=b` });
    expect([status, body.user.name, body.via.kind]).toEqual([200, "dev", "session"]);
  });

  test("by JWT, as bearer and as cookie", async () => {
    const token = await issueJwt();
    for (const headers of [bearer(token), { cookie: `registry_session=${token}` }]) {
      const { status, body } = await whoAmI(headers);
      expect([status, body.user?.name, body.via?.kind, body.scopes]).toEqual([200, "dev", "jwt", ALL]);
    }
  });

  test.each([
    [["read"], ["read"], ["read"]],
    [["write"], ["write", "read"], ["read", "publish"]],
    [["admin"], ALL, ["read", "publish", "unpublish"]],
  ])("by API key of scopes %j, as Bearer and as X-API-Key", async (scopes, expanded, permissions) => {
    const { id, secret } = await quayside.makeKey(user.token, { scopes });
    for (const headers of [bearer(secret), { "x-api-key": secret }, { authorization: `bearer ${secret}` }]) {
      const { status, body } = await whoAmI(headers);
      expect(status).toBe(200);
      expect(body).toMatchObject({ scopes: expanded, permissions, via: { kind: "api_key", id } });
    }
  });

  test("is a super admin by session, and by key only with the scope admin", async () => {
    const session = await whoAmI(bearer(quayside.adminToken));
    expect([session.body.user.superAdmin, session.body.permissions]).toEqual([
      true,
      ["read", "publish", "unpublish", "admin"],
    ]);
    for (const [scope, superAdmin] of [["admin", true] as const, ["write", false] as const]) {
      const { secret } = await quayside.makeKey(quayside.adminToken, { scopes: [scope] });
      expect((await whoAmI(bearer(secret))).body.user.superAdmin).toBe(superAdmin);
    }
  });

  test("goes by the bearer where a cookie comes too", async () => {
    const { status, body } = await whoAmI({ ...bearer(user.token), cookie: `registry_session=${quayside.adminToken}` });
    expect([status, body.user.name]).toEqual([200, "dev"]);
  });
});

describe("a credential is refused with 401", () => {
  test("when there is none", async () => {
    expectCoded(await whoAmI({}), 401, "sign_in_required", /^Sign in required: send 'Authorization: Bearer/);
  });

  test.each([
    ["is a word", "hello", /is not an API key/],
    ["is too long", "x".repeat(5_000), /too long/],
    ["is an unknown API key", generateApiKey("test").secret, "The API key is not known."],
    ["is a malformed API key", "qs_test_123", /malformed/],
    ["is a malformed role token", "qst_123", /malformed/],
    ["is a session with a wrong signature", `qss_${"0".repeat(32)}.${"A".repeat(43)}`, /signature is wrong/],
    ["is a JWT that says it needs no signature", `${part({ alg: "none" })}.${part({ jti: "x" })}.`, /not signed here/],
    ["is a JWT of another secret", jwt({}, "another secret that is long enough"), /not signed here/],
    ["is a JWT of another issuer", jwt({ iss: "http://elsewhere" }), /not signed here/],
  ])("when it %s", async (_, token, message) => {
    expectCoded(await whoAmI(bearer(token)), 401, "invalid_credentials", message);
  });

  test("when the session has expired", async () => {
    const { token } = await quayside.signUp("sleeper");
    await sql`UPDATE sessions SET expires_at = now() - interval '1 second'
      WHERE user_id = (SELECT id FROM users WHERE name = 'sleeper')`;
    expectCoded(await whoAmI(bearer(token)), 401, "invalid_credentials", "The session has expired.");
  });

  test("when a JWT was revoked by its sign-out", async () => {
    const token = await issueJwt();
    expect((await quayside.call("POST", "/-/v1/logout", { token })).status).toBe(200);
    await until("the JWT is refused", async () => (await whoAmI(bearer(token))).status === 401, 1_000);
    expectCoded(await whoAmI(bearer(token)), 401, "invalid_credentials", "The JWT was revoked.");
  });

  test("even when a right one comes along as cookie", async () => {
    const headers = { ...bearer("qs_test_wrong"), cookie: `registry_session=${user.token}` };
    expectCoded(await whoAmI(headers), 401, "invalid_credentials");
  });
});

test("a JWT is not issued to an API key", async () => {
  const { secret } = await quayside.makeKey(user.token, { scopes: ["admin"] });
  const reply = await quayside.call("POST", "/trpc/identity.sessions.issueJwt", { token: secret, body: {} });
  expect([reply.status, reply.body.error.data.errorCode]).toEqual([403, "forbidden"]);
});

describe("a change that is signed in by cookie", () => {
  let number = 0;
  const create = (headers: Record<string, string>) => {
    number += 1;
    return quayside.call("POST", "/api/projects", {
      headers: { cookie: `registry_session=${user.token}`, ...headers },
      body: { name: `cookie ${number}` },
    });
  };

  test.each([
    ["from another site", { "sec-fetch-site": "cross-site" }],
    ["from another host of the same site", { "sec-fetch-site": "same-site" }],
    ["from another origin, by an old browser", { origin: "https://evil.example" }],
    ["from an opaque origin", { origin: "null" }],
  ])("%s is refused with 403", async (_, headers) => {
    expectEnvelope(await create(headers), 403, "cross_site_request", /must come from this site/);
  });

  test("from this site passes", async () => {
    const { body } = await quayside.call("GET", "/openapi.json");
    const origin = new URL(body.servers[0].url).origin;
    for (const headers of [{ "sec-fetch-site": "same-origin" }, { "sec-fetch-site": "none" }, { origin }]) {
      expect((await create(headers)).status).toBe(201);
    }
  });

  test("from a program that is no browser passes", async () => {
    expect((await create({})).status).toBe(201);
  });

  test("is not in question for reading, or with a bearer credential", async () => {
    const foreign = { "sec-fetch-site": "cross-site", origin: "https://evil.example" };
    expect((await whoAmI({ cookie: `registry_session=${user.token}`, ...foreign })).status).toBe(200);
    const written = await quayside.call("POST", "/api/projects", {
      headers: { ...bearer(user.token), ...foreign },
      body: { name: "by bearer" },
    });
    expect(written.status).toBe(201);
  });
});

function part(value: object): string {
  return Buffer.from(JSON.stringify(value)).toString("base64url");
}

function jwt(claims: object, secret = SECRETS.JWT_SECRET): string {
  const exp = Math.floor(Date.now() / 1_000) + 3_600;
  const body = `${part({ alg: "HS256", typ: "JWT" })}.${part({ jti: "x", aud: "quayside", exp, ...claims })}`;
  return `${body}.${createHmac("sha256", secret).update(body).digest("base64url")}`;
}
