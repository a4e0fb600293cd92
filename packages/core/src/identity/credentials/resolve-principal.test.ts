import { type ErrorCode, PlatformError, type Principal } from "@quayside/contracts";
import { afterAll, beforeAll, expect, test } from "vitest";
import { asUser } from "../../../../../test/support/actors.ts";
import { openTestServices, type TestServices } from "../../../../../test/support/services.ts";
import type { Context } from "../../platform/context.ts";
import { createApiKey } from "../api-keys/create-api-key.ts";
import { revokeApiKey } from "../api-keys/revoke-api-key.ts";
import { issueJwt } from "../users/issue-jwt.ts";
import { logIn } from "../users/log-in.ts";
import { logOut } from "../users/log-out.ts";
import { resolvePrincipal } from "./resolve-principal.ts";
import { generateApiKey, generateRoleToken } from "./secret-formats.ts";

const DAY_MS = 86_400_000;
let world: TestServices;
let owner: Context;

beforeAll(async () => {
  world = await openTestServices({ env: { RATE_LIMIT_LOGIN_PER_MINUTE: "1000" } });
  owner = await asUser(world, "owner");
});

afterAll(() => world.close());

const resolve = (credential: string): Promise<Principal> => resolvePrincipal(world.services, credential);

async function refusal(credential: string): Promise<{ code: ErrorCode; message: string }> {
  try {
    await resolve(credential);
  } catch (error) {
    if (error instanceof PlatformError) return { code: error.code, message: error.message };
    throw error;
  }
  throw new Error("The credential was accepted.");
}

async function signIn(): Promise<{ token: string; ctx: Context }> {
  const ctx = { ...world.system, override: null };
  const { token } = await logIn(ctx, { username: "owner", password: "correct horse battery" });
  return { token, ctx: { ...ctx, principal: await resolve(token) } };
}

/** What was announced is told to this process a moment later; a test that asks at once would race with it. */
async function refusedSoon(credential: string): Promise<string> {
  const deadline = performance.now() + 1_000;
  for (;;) {
    const message = await resolve(credential).then(
      () => null,
      (error: Error) => error.message,
    );
    if (message !== null) return message;
    if (performance.now() > deadline) throw new Error("The credential was still accepted after 1 s.");
    await new Promise((done) => setImmediate(done));
  }
}

test("an API key acts for its owner's personal organization, with its own scopes and no more", async () => {
  const { secret, key } = await createApiKey(owner, { name: "k", environment: "test", scopes: ["write"] });
  const principal = await resolve(secret);
  expect(principal).toMatchObject({
    user: { name: "owner", superAdmin: false },
    organization: owner.principal?.organization,
    permissions: ["read", "publish"],
    via: { kind: "api_key", id: key.id },
  });
  expect([...principal.scopes].sort()).toEqual(["read", "write"]);
});

test("nothing of a key is stored but its SHA-256 and the prefix that is shown", async () => {
  const { secret, key } = await createApiKey(owner, { name: "k", environment: "dev", scopes: ["read"] });
  const [row] = await world.services.db.sql`SELECT row_to_json(k)::text AS stored FROM api_keys k WHERE id = ${key.id}`;
  expect(row?.stored).not.toContain(secret.slice(key.prefix.length));
  expect(row?.stored).toContain(key.prefix);
});

test("an expired, a revoked, an unknown and a malformed key are told apart and all refused", async () => {
  const expiresAt = new Date(world.clock.now().getTime() + 60_000).toISOString();
  const expiring = await createApiKey(owner, { name: "k", environment: "test", scopes: ["read"], expiresAt });
  await resolve(expiring.secret);
  world.clock.advance(60_000);
  expect(await refusal(expiring.secret)).toMatchObject({ code: "invalid_credentials", message: /expired/ });
  const revoked = await createApiKey(owner, { name: "k", environment: "test", scopes: ["read"] });
  await resolve(revoked.secret);
  await revokeApiKey(owner, { id: revoked.key.id });
  expect(await refusedSoon(revoked.secret)).toMatch(/revoked/);
  expect((await refusal(generateApiKey("test").secret)).message).toMatch(/not known/);
  expect((await refusal("qs_test_123")).message).toMatch(/malformed/);
});

test("a malformed key is refused without asking the database", async () => {
  const unreachable = { ...world.services, db: null as never };
  const { secret } = generateApiKey("live");
  const wrong = secret.slice(0, -1) + (secret.endsWith("0") ? "1" : "0");
  await expect(resolvePrincipal(unreachable, wrong)).rejects.toThrow(/checksum/);
});

test("a session lasts seven days, with all scopes of its user", async () => {
  const { token } = await signIn();
  expect([...(await resolve(token)).scopes].sort()).toEqual(["admin", "read", "write"]);
  world.clock.advance(7 * DAY_MS - 1);
  await resolve(token);
  world.clock.advance(1);
  expect((await refusal(token)).message).toMatch(/session has expired/);
});

test("a session that was signed out is refused", async () => {
  const { token, ctx } = await signIn();
  await logOut(ctx);
  expect(await refusedSoon(token)).toMatch(/session was revoked/);
});

test("a JWT stands for its person until it is signed out, whatever it says itself", async () => {
  const { ctx } = await signIn();
  const { token } = await issueJwt(ctx);
  const principal = await resolve(token);
  expect(principal).toMatchObject({ user: { name: "owner" }, via: { kind: "jwt" } });
  await logOut({ ...ctx, principal });
  expect(await refusedSoon(token)).toMatch(/JWT was revoked/);
});

test("a JWT lasts thirty days", async () => {
  const { ctx } = await signIn();
  const { token, expiresAt } = await issueJwt(ctx);
  expect(expiresAt.getTime() - world.clock.now().getTime()).toBe(30 * DAY_MS);
  world.clock.advance(30 * DAY_MS);
  expect((await refusal(token)).message).toMatch(/expired/);
});

test("a key is not given a JWT", async () => {
  const { secret } = await createApiKey(owner, { name: "k", environment: "test", scopes: ["admin"] });
  await expect(issueJwt({ ...owner, principal: await resolve(secret) })).rejects.toMatchObject({ code: "forbidden" });
});

test("a disabled user's credentials are refused", async () => {
  const leaver = await asUser(world, "leaver");
  const { secret } = await createApiKey(leaver, { name: "k", environment: "test", scopes: ["read"] });
  await world.services.db.sql`UPDATE users SET disabled_at = now() WHERE name = 'leaver'`;
  expect((await refusal(secret)).message).toMatch(/disabled/);
});

test("text that is no credential at all is refused with a hint of what one looks like", async () => {
  for (const text of ["", "hello", "a.b", "x".repeat(5_000), "qss_nonsense", "qst_nonsense", "a.b.c"]) {
    expect((await refusal(text)).code).toBe("invalid_credentials");
  }
  expect((await refusal(generateRoleToken())).message).toMatch(/not known/);
});

test("the last use of a key is stored", async () => {
  const { secret, key } = await createApiKey(owner, { name: "k", environment: "test", scopes: ["read"] });
  await resolve(secret);
  await world.services.keyUse.flush();
  const [row] = await world.services.db.sql`
    SELECT extract(epoch FROM last_used_at)::float8 * 1000 AS at FROM api_keys WHERE id = ${key.id}`;
  expect(row?.at).toBe(world.clock.now().getTime());
});
