import { createHmac } from "node:crypto";
import { decodeJwt, SignJWT } from "jose";
import { expect, test } from "vitest";
import { JWT_LIFETIME_MS, readJwt, signJwt } from "./jwts.ts";

const SECRET = "jwt-secret-for-tests-only-000000";
const ISSUER = "http://quayside.test";
const NOW = new Date("2026-01-01T00:00:00Z");
const JTI = "018f0000-0000-7000-8000-000000000001";

function sign(fields: { secret?: string; issuer?: string } = {}): Promise<string> {
  const claims = {
    jti: JTI,
    userId: 7,
    organizationId: "018f0000-0000-7000-8000-000000000002",
    permissions: ["read", "publish"],
    scopes: ["read", "write"],
    issuedAt: NOW,
    expiresAt: new Date(NOW.getTime() + JWT_LIFETIME_MS),
  };
  return signJwt(claims, fields.issuer ?? ISSUER, fields.secret ?? SECRET);
}

function read(token: string, now = NOW): Promise<string | null> {
  return readJwt(token, ISSUER, SECRET, now);
}

/** A token that anybody can write, with the HMAC of our own secret under it. */
function forge(header: object, payload: object, hash = "sha256"): string {
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url");
  const body = `${part(header)}.${part(payload)}`;
  return `${body}.${createHmac(hash, SECRET).update(body).digest("base64url")}`;
}

const good = () => ({
  iss: ISSUER,
  aud: "quayside",
  jti: JTI,
  iat: NOW.getTime() / 1_000,
  exp: NOW.getTime() / 1_000 + 60,
});

test("a JWT of ours is read until 30 days have passed, and no longer", async () => {
  const token = await sign();
  expect(await read(token)).toBe(JTI);
  expect(await read(token, new Date(NOW.getTime() + 30 * 86_400_000 - 1_000))).toBe(JTI);
  expect(await read(token, new Date(NOW.getTime() + 30 * 86_400_000))).toBeNull();
});

test("a JWT carries org_id, user_id, permissions, scopes and jti", async () => {
  expect(decodeJwt(await sign())).toMatchObject({
    org_id: "018f0000-0000-7000-8000-000000000002",
    user_id: 7,
    permissions: ["read", "publish"],
    scopes: ["read", "write"],
    jti: JTI,
    sub: "7",
    iss: ISSUER,
    aud: "quayside",
  });
});

test("the forge of this test makes tokens that would be read, so that what follows is refused for its own reason", async () => {
  expect(await read(forge({ alg: "HS256", typ: "JWT" }, good()))).toBe(JTI);
});

test.each([
  ["alg none without a signature", () => forge({ alg: "none" }, good()).replace(/[^.]*$/, "")],
  ["alg none with a signature", () => forge({ alg: "none" }, good())],
  ["alg NONE", () => forge({ alg: "NONE" }, good()).replace(/[^.]*$/, "")],
  ["HS512, signed with our secret", () => forge({ alg: "HS512" }, good(), "sha512")],
  ["HS384, signed with our secret", () => forge({ alg: "HS384" }, good(), "sha384")],
  ["an extension that must be understood", () => forge({ alg: "HS256", crit: ["b64"], b64: false }, good())],
  ["another issuer", () => forge({ alg: "HS256" }, { ...good(), iss: "http://elsewhere.test" })],
  ["no issuer", () => forge({ alg: "HS256" }, { ...good(), iss: undefined })],
  ["another audience", () => forge({ alg: "HS256" }, { ...good(), aud: "elsewhere" })],
  ["no audience", () => forge({ alg: "HS256" }, { ...good(), aud: undefined })],
  ["no expiry", () => forge({ alg: "HS256" }, { ...good(), exp: undefined })],
  ["an expiry in the past", () => forge({ alg: "HS256" }, { ...good(), exp: NOW.getTime() / 1_000 - 1 })],
  ["a beginning in the future", () => forge({ alg: "HS256" }, { ...good(), nbf: NOW.getTime() / 1_000 + 3_600 })],
  ["no jti", () => forge({ alg: "HS256" }, { ...good(), jti: undefined })],
])("a JWT with %s is refused", async (_what, make) => {
  expect(await read(make())).toBeNull();
});

test("a JWT signed with another secret, or for another installation, is refused", async () => {
  expect(await read(await sign({ secret: "another-secret-of-somebody-else0" }))).toBeNull();
  expect(await read(await sign({ issuer: "http://elsewhere.test" }))).toBeNull();
});

test("a JWT whose claims were changed is refused", async () => {
  const [header, payload, signature] = (await sign()).split(".");
  const claims = JSON.parse(Buffer.from(payload ?? "", "base64url").toString());
  const changed = Buffer.from(JSON.stringify({ ...claims, user_id: 1 })).toString("base64url");
  expect(await read(`${header}.${changed}.${signature}`)).toBeNull();
});

test("what is no JWT is refused", async () => {
  const unsigned = await new SignJWT({}).setProtectedHeader({ alg: "HS256" }).sign(Buffer.from("x".repeat(32)));
  for (const text of ["", "a.b.c", "..", unsigned, `${await sign()}x`]) expect(await read(text)).toBeNull();
});
