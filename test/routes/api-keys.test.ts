import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { expectProblem } from "../support/expect-errors.ts";
import { startTestQuayside, type TestQuayside } from "../support/quayside.ts";
import { connectTo } from "../support/sql.ts";
import { until } from "../support/until.ts";

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;
const TIME = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/;
const NO_SUCH_ID = "00000000-0000-4000-8000-000000000000";
const NEW_KEY = { name: "ci", environment: "test", scopes: ["read"] };

let quayside: TestQuayside;
let sql: ReturnType<typeof connectTo>;
let alice: { token: string; userId: number };
let bob: { token: string; userId: number };

beforeAll(async () => {
  quayside = await startTestQuayside({}, "api");
  sql = connectTo(quayside.databaseUrl);
  [alice, bob] = await Promise.all([quayside.signUp("alice"), quayside.signUp("bob")]);
});

afterAll(async () => {
  await sql?.end();
  await quayside?.stop();
});

const create = (fields: Record<string, unknown> = {}, token = alice.token) =>
  quayside.call("POST", "/v1/crm/api-keys", { token, body: { ...NEW_KEY, ...fields } });
const list = async (token: string) => (await quayside.call("GET", "/v1/crm/api-keys", { token })).body.keys;
const organizationOf = async (token: string) =>
  (await quayside.call("GET", "/api/v1/whoami", { token })).body.organization.id as string;

describe("creating a key", () => {
  test("answers 201 with the whole record and the secret", async () => {
    const reply = await create();
    expect(reply.status).toBe(201);
    expect(reply.body).toEqual({
      key: {
        id: expect.stringMatching(UUID),
        name: "ci",
        environment: "test",
        scopes: ["read"],
        prefix: expect.stringMatching(/^qs_test_[0-9A-Za-z]{6}$/),
        expiresAt: null,
        rateLimitOverride: null,
        toolAllowlist: null,
        tenantId: null,
        createdAt: expect.stringMatching(TIME),
        lastUsedAt: null,
        revokedAt: null,
        status: "active",
      },
      secret: expect.stringMatching(/^qs_test_[0-9A-Za-z]{49}$/),
    });
    expect(reply.body.secret.startsWith(reply.body.key.prefix)).toBe(true);
  });

  test("keeps every optional field as it was sent", async () => {
    const fields = {
      scopes: ["write", "read", "write"],
      expiresAt: "2099-01-01T00:00:00+02:00",
      rateLimitOverride: { read: 5, admin: 7 },
      toolAllowlist: ["*", "crm", "crm.people", "crm.people_v2.*"],
      tenantId: await organizationOf(alice.token),
    };
    const { status, body } = await create(fields);
    expect(status).toBe(201);
    expect(body.key).toMatchObject({ ...fields, scopes: ["write", "read"], expiresAt: "2098-12-31T22:00:00.000Z" });
  });

  test("never stores the secret, only its SHA-256", async () => {
    const { body } = await create({ name: "hashed" });
    const [row] = await sql`SELECT key_hash = sha256(${body.secret}::bytea) AS hashed, to_jsonb(k) - 'prefix' AS row
      FROM api_keys k WHERE id = ${body.key.id}`;
    expect(row?.hashed).toBe(true);
    expect(JSON.stringify(row?.row)).not.toContain(body.secret.slice("qs_test_".length, -6));
  });

  test("without a credential answers 401 and tells nothing of the input", async () => {
    const reply = await quayside.call("POST", "/v1/crm/api-keys", { body: { wrong: true } });
    expectProblem(reply, 401, "sign_in_required", /^Sign in required/);
    expect(reply.body.errors).toBeUndefined();
    expect(reply.headers.get("www-authenticate")).toBe('Bearer realm="quayside"');
  });

  test.each(["read", "write"])("with a key of scope %s answers 403", async (scope) => {
    const { secret } = await quayside.makeKey(alice.token, { scopes: [scope] });
    expectProblem(await create({}, secret), 403, "insufficient_scope", /needs the scope 'admin'/);
    const keys = await quayside.call("GET", "/v1/crm/api-keys", { token: secret });
    expectProblem(keys, 403, "insufficient_scope", /needs the scope 'admin'/);
  });

  test("with an admin key works, and the new key can do no more than its maker", async () => {
    const { secret } = await quayside.makeKey(alice.token, { scopes: ["admin"] });
    const reply = await create({ scopes: ["read", "write"] }, secret);
    expect(reply.status).toBe(201);
    const stronger = await create({ scopes: ["admin"] }, reply.body.secret);
    expectProblem(stronger, 403, "insufficient_scope");
  });

  test("with a key of a tenant makes keys of that tenant only", async () => {
    const [own, shared] = await Promise.all([organizationOf(alice.token), organizationOf(bob.token)]);
    await sql`INSERT INTO memberships (organization_id, user_id, role) VALUES (${shared}, ${alice.userId}, 'admin')`;
    const { secret } = await quayside.makeKey(alice.token, { scopes: ["admin"], tenantId: shared });
    const inherited = await create({}, secret);
    expect(inherited.status).toBe(201);
    expect(inherited.body.key.tenantId).toBe(shared);
    expectProblem(await create({ tenantId: own }, secret), 422, "validation_failed", /its own organization only/);
    await sql`DELETE FROM memberships WHERE organization_id = ${shared} AND user_id = ${alice.userId}`;
    expectProblem(await create({ tenantId: shared }), 422, "validation_failed", /not an organization that you are/);
    // Who left the organization takes no key along.
    const left = await quayside.call("GET", "/api/v1/whoami", { token: inherited.body.secret });
    expectProblemOfRegistry(left.status, left.body);
  });

  function expectProblemOfRegistry(status: number, body: unknown): void {
    expect(status).toBe(401);
    expect(body).toEqual({ error: "The API key is not known.", code: "invalid_credentials" });
  }
});

describe("a live key", () => {
  test("costs 402 until its owner has an active paid plan", async () => {
    const carol = await quayside.signUp("carol");
    const createLive = () => create({ environment: "live" }, carol.token);
    const entitle = (plan: string, until: string | null) => sql`
      INSERT INTO entitlements (user_uid, plan, entitled_until, source)
      SELECT uid, ${plan}, ${until}::timestamptz, 'test' FROM users WHERE id = ${carol.userId}
      ON CONFLICT (user_uid) DO UPDATE SET plan = excluded.plan, entitled_until = excluded.entitled_until`;
    expectProblem(await createLive(), 402, "live_key_requires_paid_plan", /needs an active paid plan/);
    await entitle("free", null);
    expectProblem(await createLive(), 402, "live_key_requires_paid_plan");
    await entitle("pro", "2020-01-01T00:00:00Z");
    expectProblem(await createLive(), 402, "live_key_requires_paid_plan");
    await entitle("pro", "2099-01-01T00:00:00Z");
    const dated = await createLive();
    expect([dated.status, dated.body.key?.environment]).toEqual([201, "live"]);
    expect(dated.body.secret).toMatch(/^qs_live_/);
    await entitle("starter", null);
    expect((await createLive()).status).toBe(201);
  });

  test.each(["test", "dev"])("is not what a %s key is: that one needs no plan", async (environment) => {
    const reply = await create({ environment });
    expect([reply.status, reply.body.key?.environment]).toEqual([201, environment]);
  });
});

describe("the rules of the input", () => {
  test.each([
    ["a name of 1 character", { name: "n" }],
    ["a name of 120 characters", { name: "n".repeat(120) }],
    ["all three scopes", { scopes: ["read", "write", "admin"] }],
    ["100 tools", { toolAllowlist: Array.from({ length: 100 }, (_, i) => `crm.tool_${i}`) }],
    ["no tool at all", { toolAllowlist: [] }],
    ["an empty rate limit", { rateLimitOverride: {} }],
    ["a rate of 1", { rateLimitOverride: { read: 1, write: 1, admin: 1 } }],
    ["an expiry with an offset", { expiresAt: "2099-06-01T12:00:00-07:00" }],
  ])("accept %s", async (_, fields) => {
    expect((await create(fields)).status).toBe(201);
  });

  test.each([
    ["an empty name", { name: "" }, "name"],
    ["a name of 121 characters", { name: "n".repeat(121) }, "name"],
    ["a missing name", { name: undefined }, "name"],
    ["a name that is a number", { name: 7 }, "name"],
    ["a name with a NUL character", { name: "a\u0000b" }, "name"],
    ["a name with half a character", { name: "a\ud800b" }, "name"],
    ["an unknown environment", { environment: "prod" }, "environment"],
    ["a missing environment", { environment: undefined }, "environment"],
    ["no scope", { scopes: [] }, "scopes"],
    ["an unknown scope", { scopes: ["read", "root"] }, "scopes.1"],
    ["scopes as an object", { scopes: {} }, "scopes"],
    ["an expiry in the past", { expiresAt: "2020-01-01T00:00:00Z" }, "expiresAt"],
    ["an expiry without a time", { expiresAt: "2099-01-01" }, "expiresAt"],
    ["an expiry without an offset", { expiresAt: "2099-01-01T00:00:00" }, "expiresAt"],
    ["an expiry on a day that does not exist", { expiresAt: "2099-02-30T00:00:00Z" }, "expiresAt"],
    ["an expiry as number", { expiresAt: 4_070_908_800 }, "expiresAt"],
    ["a rate of 0", { rateLimitOverride: { read: 0 } }, "rateLimitOverride.read"],
    ["a rate of -1", { rateLimitOverride: { write: -1 } }, "rateLimitOverride.write"],
    ["a rate of 1.5", { rateLimitOverride: { admin: 1.5 } }, "rateLimitOverride.admin"],
    ["a rate as text", { rateLimitOverride: { read: "5" } }, "rateLimitOverride.read"],
    ["a rate of an unknown scope", { rateLimitOverride: { root: 5 } }, "rateLimitOverride.root"],
    ["101 tools", { toolAllowlist: Array.from({ length: 101 }, () => "crm") }, "toolAllowlist"],
    ["a tool in upper case", { toolAllowlist: ["Crm"] }, "toolAllowlist.0"],
    ["a tool that begins with a digit", { toolAllowlist: ["crm.1st"] }, "toolAllowlist.0"],
    ["a tool with a star in the middle", { toolAllowlist: ["crm.*.read"] }, "toolAllowlist.0"],
    ["a tool with an empty segment", { toolAllowlist: ["crm..read"] }, "toolAllowlist.0"],
    ["a tool with a line break", { toolAllowlist: ["crm\n"] }, "toolAllowlist.0"],
    ["an empty tool", { toolAllowlist: [""] }, "toolAllowlist.0"],
    ["a tenant that is no uuid", { tenantId: "acme" }, "tenantId"],
    ["a tenant that does not exist", { tenantId: NO_SUCH_ID }, "tenantId"],
    ["null in place of nothing", { tenantId: null }, "tenantId"],
    ["an unknown field", { colour: "red" }, "colour"],
  ])("refuse %s with 422 and the name of the field", async (_, fields, field) => {
    const reply = await create(fields);
    expectProblem(reply, 422, "validation_failed");
    expect(reply.body.errors.map((issue: { field: string }) => issue.field)).toEqual([field]);
  });

  test("name all faults at once", async () => {
    const reply = await quayside.call("POST", "/v1/crm/api-keys", { token: alice.token, body: {} });
    expectProblem(reply, 422, "validation_failed", /and 2 more/);
    expect(reply.body.errors.map((issue: { field: string }) => issue.field)).toEqual(["name", "environment", "scopes"]);
  });

  test("refuse another user's organization as tenant like one that does not exist", async () => {
    const reply = await create({ tenantId: await organizationOf(bob.token) });
    expectProblem(reply, 422, "validation_failed", "tenantId is not an organization that you are a member of.");
  });
});

describe("listing keys", () => {
  test("shows the caller's own keys, newest first, without a secret or hash", async () => {
    const dora = await quayside.signUp("dora");
    expect(await list(dora.token)).toEqual([]);
    const first = await quayside.makeKey(dora.token, { name: "first" });
    const second = await quayside.makeKey(dora.token, { name: "second" });
    const keys = await list(dora.token);
    expect(keys.map((key: { id: string }) => key.id)).toEqual([second.id, first.id]);
    expect(JSON.stringify(keys)).not.toContain(first.secret);
    expect(Object.keys(keys[0])).not.toContain("keyHash");
  });

  test("answers 401 to a stranger", async () => {
    expectProblem(await quayside.call("GET", "/v1/crm/api-keys"), 401, "sign_in_required");
  });

  test("tells active, revoked and expired keys apart", async () => {
    const erin = await quayside.signUp("erin");
    const [, expired, revoked] = await Promise.all(
      ["active", "expired", "revoked"].map((name) => quayside.makeKey(erin.token, { name })),
    );
    await sql`UPDATE api_keys SET expires_at = now() - interval '1 second' WHERE id = ${expired?.id ?? ""}`;
    await quayside.call("DELETE", `/v1/crm/api-keys/${revoked?.id}`, { token: erin.token });
    const keys: { name: string; status: string; revokedAt: string | null }[] = await list(erin.token);
    for (const key of keys) expect(key.status).toBe(key.name);
    expect(keys.find((key) => key.name === "revoked")?.revokedAt).toMatch(TIME);
    expect(keys).toHaveLength(3);
  });
});

describe("revoking a key", () => {
  test("answers 204 without a body, then 404", async () => {
    const { id } = await quayside.makeKey(alice.token);
    const revoke = () => quayside.call("DELETE", `/v1/crm/api-keys/${id}`, { token: alice.token });
    const reply = await revoke();
    expect([reply.status, reply.text]).toEqual([204, ""]);
    expectProblem(await revoke(), 404, "not_found", `No active API key of yours has the id ${id}.`);
  });

  test("ends a key that was just in use within a second", async () => {
    const { id, secret } = await quayside.makeKey(alice.token);
    const use = () => quayside.call("GET", "/v1/crm/stats", { token: secret });
    expect((await use()).status).toBe(200);
    await quayside.call("DELETE", `/v1/crm/api-keys/${id}`, { token: alice.token });
    await until("the key is refused", async () => (await use()).status === 401, 1_000);
    expectProblem(await use(), 401, "invalid_credentials", "The API key was revoked.");
  });

  test("of another owner answers 404 and leaves the key alive", async () => {
    const { id, secret } = await quayside.makeKey(alice.token);
    const reply = await quayside.call("DELETE", `/v1/crm/api-keys/${id}`, { token: bob.token });
    expectProblem(reply, 404, "not_found");
    expect((await quayside.call("GET", "/v1/crm/stats", { token: secret })).status).toBe(200);
  });

  test("answers 401 to a stranger and 403 to a key without the scope", async () => {
    const { id, secret } = await quayside.makeKey(alice.token, { scopes: ["write"] });
    expectProblem(await quayside.call("DELETE", `/v1/crm/api-keys/${id}`), 401, "sign_in_required");
    const reply = await quayside.call("DELETE", `/v1/crm/api-keys/${id}`, { token: secret });
    expectProblem(reply, 403, "insufficient_scope");
  });

  test.each([NO_SUCH_ID, "not-a-uuid", "verify"])("answers 404 to the id %s, which nothing has", async (id) => {
    const reply = await quayside.call("DELETE", `/v1/crm/api-keys/${id}`, { token: alice.token });
    expectProblem(reply, 404, "not_found", new RegExp(id));
  });
});
