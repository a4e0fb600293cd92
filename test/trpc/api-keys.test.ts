import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startTestQuayside, type TestQuayside } from "../support/quayside.ts";
import { connectTo } from "../support/sql.ts";
import { until } from "../support/until.ts";

const GATEWAY_SECRET = "gateway-secret-for-tests-only-00";
const HOUR_MS = 3_600_000;

let quayside: TestQuayside;
let sql: ReturnType<typeof connectTo>;
let owner: { token: string; userId: number };
let stranger: { token: string; userId: number };

beforeAll(async () => {
  quayside = await startTestQuayside({ GATEWAY_SECRET }, "api");
  sql = connectTo(quayside.databaseUrl);
  [owner, stranger] = await Promise.all([quayside.signUp("owner"), quayside.signUp("stranger")]);
});

afterAll(async () => {
  await sql?.end();
  await quayside?.stop();
});

const rotate = async (input: Record<string, unknown>, token = owner.token) => {
  const { status, body } = await quayside.call("POST", "/trpc/identity.apiKeys.rotate", { token, body: input });
  return { status, error: body.error?.data.errorCode, message: body.error?.message, ...body.result?.data };
};
const hourly = async (input: Record<string, unknown>, token = owner.token) => {
  const query = encodeURIComponent(JSON.stringify(input));
  const { status, body } = await quayside.call("GET", `/trpc/identity.apiKeys.hourlyUsage?input=${query}`, { token });
  return { status, error: body.error?.data.errorCode, ...body.result?.data };
};
const use = async (secret: string) => (await quayside.call("GET", "/v1/crm/stats", { token: secret })).status;
const listed = async () => (await quayside.call("GET", "/v1/crm/api-keys", { token: owner.token })).body.keys;
const inSeconds = (seconds: number) => new Date(Date.now() + seconds * 1_000).toISOString();

describe("rotating a key", () => {
  const settings = {
    name: "rotated",
    environment: "dev",
    scopes: ["read"],
    rateLimitOverride: { read: 5 },
    toolAllowlist: ["crm.*"],
    expiresAt: "2099-01-01T00:00:00.000Z",
  };

  test("makes one with the same settings and expiry; the old one goes on for a day", async () => {
    const { body: me } = await quayside.call("GET", "/api/v1/whoami", { token: owner.token });
    const all = { ...settings, tenantId: me.organization.id };
    const old = await quayside.makeKey(owner.token, all);
    const rotated = await rotate({ id: old.id });
    expect(rotated).toMatchObject({
      status: 200,
      secret: expect.stringMatching(/^qs_dev_/),
      key: { ...all, status: "active" },
    });
    expect(rotated.key.id).not.toBe(old.id);
    expect(rotated.secret.startsWith(rotated.key.prefix)).toBe(true);
    expect(rotated.previous).toMatchObject({ ...all, id: old.id, status: "active", expiresAt: expect.any(String) });
    const graceMs = Date.parse(rotated.previous.expiresAt) - Date.now();
    expect(graceMs).toBeGreaterThan(86_340_000);
    expect(graceMs).toBeLessThanOrEqual(86_400_000);
    expect([await use(old.secret), await use(rotated.secret)]).toEqual([200, 200]);
    const [audit] =
      await sql`SELECT actor, details FROM audit_events WHERE action = 'api_key.rotated' AND target = ${`api_key:${old.id}`}`;
    expect(audit).toEqual({
      actor: "user:owner",
      details: { name: "rotated", successor: rotated.key.id, graceSeconds: 86_400 },
    });
    expect(JSON.stringify(audit)).not.toContain(rotated.secret);
  });

  test("without grace ends the old one within a second", async () => {
    const old = await quayside.makeKey(owner.token);
    expect(await use(old.secret)).toBe(200);
    const rotated = await rotate({ id: old.id, graceSeconds: 0 });
    expect(rotated.previous.status).toBe("expired");
    expect(rotated.key.expiresAt).toBeNull();
    await until("the old key is refused", async () => (await use(old.secret)) === 401, 1_000);
    expect(await use(rotated.secret)).toBe(200);
  });

  test("never lets the old one, or the new one, live beyond the old expiry", async () => {
    const expiresAt = inSeconds(3_600);
    const { id } = await quayside.makeKey(owner.token, { expiresAt });
    const rotated = await rotate({ id, graceSeconds: 604_800 });
    expect([rotated.key.expiresAt, rotated.previous.expiresAt]).toEqual([expiresAt, expiresAt]);
  });

  test("twice at once makes one successor", async () => {
    const { id } = await quayside.makeKey(owner.token, { name: "raced" });
    const replies = await Promise.all(Array.from({ length: 6 }, () => rotate({ id })));
    expect(replies.map(({ status }) => status).sort()).toEqual([200, 409, 409, 409, 409, 409]);
    const successor = replies.find(({ status }) => status === 200)?.key.id;
    const late = await rotate({ id });
    expect([late.error, late.message]).toEqual([
      "conflict",
      `This key was rotated already; its successor is ${successor}.`,
    ]);
    expect((await listed()).filter((key: { name: string }) => key.name === "raced")).toHaveLength(2);
    expect((await rotate({ id: successor })).status).toBe(200);
  });

  test("of another owner, of nobody, revoked or expired is 404", async () => {
    const [foreign, revoked, expired] = await Promise.all([
      quayside.makeKey(stranger.token),
      quayside.makeKey(owner.token),
      quayside.makeKey(owner.token),
    ]);
    await quayside.call("DELETE", `/v1/crm/api-keys/${revoked.id}`, { token: owner.token });
    await sql`UPDATE api_keys SET expires_at = now() - interval '1 second' WHERE id = ${expired.id}`;
    for (const id of [foreign.id, randomUUID(), revoked.id, expired.id]) {
      expect(await rotate({ id })).toMatchObject({ status: 404, error: "not_found" });
    }
  });

  test("needs the scope admin", async () => {
    const { id, secret } = await quayside.makeKey(owner.token, { scopes: ["write"] });
    expect(await rotate({ id }, secret)).toMatchObject({ status: 403, error: "insufficient_scope" });
    const anonymous = await quayside.call("POST", "/trpc/identity.apiKeys.rotate", { body: { id } });
    expect(anonymous.status).toBe(401);
  });

  test("with a key reaches the keys of its own organization only", async () => {
    const { body } = await quayside.call("GET", "/api/v1/whoami", { token: stranger.token });
    const tenantId = body.organization.id;
    await sql`INSERT INTO memberships (organization_id, user_id, role) VALUES (${tenantId}, ${owner.userId}, 'admin')`;
    const scopes = ["admin"];
    const [own, shared, admin, tenantAdmin] = await Promise.all([
      quayside.makeKey(owner.token),
      quayside.makeKey(owner.token, { tenantId }),
      quayside.makeKey(owner.token, { scopes }),
      quayside.makeKey(owner.token, { scopes, tenantId }),
    ]);
    expect((await rotate({ id: shared.id }, admin.secret)).error).toBe("not_found");
    expect((await rotate({ id: own.id }, tenantAdmin.secret)).error).toBe("not_found");
    expect((await rotate({ id: own.id }, admin.secret)).status).toBe(200);
    expect((await rotate({ id: shared.id }, tenantAdmin.secret)).key.tenantId).toBe(tenantId);
    const itself = await rotate({ id: admin.id, graceSeconds: 0 }, admin.secret);
    expect([itself.status, await use(itself.secret)]).toEqual([200, 200]);
  });

  test("of a live key costs 402 without an active paid plan", async () => {
    const entitle = (until: string) => sql`
      INSERT INTO entitlements (user_uid, plan, entitled_until, source)
      SELECT uid, 'pro', ${until}::timestamptz, 'test' FROM users WHERE id = ${owner.userId}
      ON CONFLICT (user_uid) DO UPDATE SET entitled_until = excluded.entitled_until`;
    await entitle("2099-01-01T00:00:00Z");
    const { id } = await quayside.makeKey(owner.token, { environment: "live" });
    await entitle("2020-01-01T00:00:00Z");
    expect(await rotate({ id })).toMatchObject({ status: 402, error: "live_key_requires_paid_plan" });
    await entitle("2099-01-01T00:00:00Z");
    expect((await rotate({ id })).secret).toMatch(/^qs_live_/);
  });

  test.each([0, 604_800])("takes a grace of %i s", async (graceSeconds) => {
    const { id } = await quayside.makeKey(owner.token);
    expect((await rotate({ id, graceSeconds })).status).toBe(200);
  });

  test.each([
    { graceSeconds: -1 },
    { graceSeconds: 604_801 },
    { graceSeconds: 0.5 },
    { graceSeconds: "60" },
    { graceSeconds: null },
    { id: "7" },
    { id: undefined },
    { colour: "red" },
  ])("refuses %j", async (fields) => {
    const { id } = await quayside.makeKey(owner.token);
    expect(await rotate({ id, ...fields })).toMatchObject({ status: 422, error: "validation_failed" });
  });
});

describe("usage of a key by hour", () => {
  const report = (apiKeyId: string, hour: number, requests: number) =>
    quayside.call("POST", "/v1/crm/internal/api-usage", {
      headers: { authorization: `Bearer ${GATEWAY_SECRET}` },
      body: { entries: [{ apiKeyId, hour: new Date(hour).toISOString(), requests, errors: 1 }] },
    });

  test("covers 48 hours by default, oldest first, hours without requests as zero", async () => {
    const { id } = await quayside.makeKey(owner.token);
    const present = Math.floor(Date.now() / HOUR_MS) * HOUR_MS;
    await report(id, present, 5);
    await report(id, present - 47 * HOUR_MS, 7);
    await report(id, present - 48 * HOUR_MS, 9);
    const reply = await hourly({ id });
    expect(reply).toMatchObject({ status: 200, keyId: id, hours: 48 });
    expect(reply.usage).toHaveLength(48);
    expect(reply.usage[0]).toEqual({ hour: new Date(present - 47 * HOUR_MS).toISOString(), requests: 7, errors: 1 });
    expect(reply.usage[1]).toEqual({ hour: new Date(present - 46 * HOUR_MS).toISOString(), requests: 0, errors: 0 });
    expect(reply.usage[47]).toEqual({ hour: new Date(present).toISOString(), requests: 5, errors: 1 });
    expect((await hourly({ id, hours: 1 })).usage).toHaveLength(1);
    expect((await hourly({ id, hours: 2_160 })).usage).toHaveLength(2_160);
  });

  test("is the owner's own", async () => {
    const { id } = await quayside.makeKey(owner.token);
    expect(await hourly({ id }, stranger.token)).toMatchObject({ status: 404, error: "not_found" });
    expect((await hourly({ id: randomUUID() })).error).toBe("not_found");
  });

  test.each([0, -1, 2_161, 1.5, "48", null])("refuses hours=%j", async (hours) => {
    const { id } = await quayside.makeKey(owner.token);
    expect(await hourly({ id, hours })).toMatchObject({ status: 422, error: "validation_failed" });
  });
});
