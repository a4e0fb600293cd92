import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { expectProblem } from "../support/expect-errors.ts";
import { SECRETS, startTestQuayside, type TestQuayside } from "../support/quayside.ts";
import { connectTo } from "../support/sql.ts";
import { until } from "../support/until.ts";

const ENTITLEMENTS_SECRET = "entitlements-secret-for-tests-00";
const PATH = "/v1/crm/internal/entitlements";
const TIME = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/;

let quayside: TestQuayside;
let closed: TestQuayside;
let sql: ReturnType<typeof connectTo>;

beforeAll(async () => {
  quayside = await startTestQuayside({ ENTITLEMENTS_SECRET }, "api");
  // Outside production a missing secret is generated.
  closed = await startTestQuayside({ NODE_ENV: "production" }, "api");
  sql = connectTo(quayside.databaseUrl);
});

afterAll(async () => {
  await sql?.end();
  await quayside?.stop();
  await closed?.stop();
});

const secret = (value = ENTITLEMENTS_SECRET) => ({ "x-internal-secret": value });
const put = (body: unknown, headers: Record<string, string> = secret()) =>
  quayside.call("PUT", PATH, { body, headers });
const read = (query: string, headers: Record<string, string> = secret()) =>
  quayside.call("GET", `${PATH}${query}`, { headers });

async function signUp(name: string) {
  const { token, userId } = await quayside.signUp(name);
  const { body } = await quayside.call("GET", "/api/v1/whoami", { token });
  return { token, userId, uid: body.user.uid as string };
}

describe("setting a plan", () => {
  test("answers 200 with the whole record, which can then be read", async () => {
    const { uid } = await signUp("ada");
    const reply = await put({
      userId: uid,
      plan: "pro",
      entitledUntil: "2099-01-01T02:00:00+02:00",
      source: "billing",
    });
    expect(reply.status).toBe(200);
    const entitlement = {
      userId: uid,
      plan: "pro",
      entitledUntil: "2099-01-01T00:00:00.000Z",
      source: "billing",
      updatedAt: expect.stringMatching(TIME),
    };
    expect(reply.body).toEqual({ entitlement });
    expect((await read(`?userId=${uid}`)).body).toEqual(reply.body);
  });

  test("without an end and a source is without an end and 'manual', also for an id that nobody has yet", async () => {
    const userId = randomUUID();
    const { status, body } = await put({ userId: userId.toUpperCase(), plan: "team" });
    expect(status).toBe(200);
    expect(body.entitlement).toMatchObject({ userId, plan: "team", entitledUntil: null, source: "manual" });
    expect((await read(`?userId=${userId.toUpperCase()}`)).body.entitlement.plan).toBe("team");
  });

  test("replaces the whole entitlement", async () => {
    const userId = randomUUID();
    await put({ userId, plan: "pro", entitledUntil: "2099-01-01T00:00:00Z", source: "billing" });
    const { body } = await put({ userId, plan: "free", entitledUntil: null });
    expect(body.entitlement).toMatchObject({ plan: "free", entitledUntil: null, source: "manual" });
  });

  test("is in the audit log, with what it was before", async () => {
    const userId = randomUUID();
    await put({ userId, plan: "starter" });
    await put({ userId, plan: "pro", source: "sales" });
    const rows =
      await sql`SELECT action, actor, details FROM audit_events WHERE target = ${`user:${userId}`} ORDER BY id`;
    const first = { plan: "starter", entitledUntil: null, source: "manual" };
    expect(rows).toEqual([
      { action: "entitlement.changed", actor: "system:entitlements", details: { ...first, before: null } },
      {
        action: "entitlement.changed",
        actor: "system:entitlements",
        details: { plan: "pro", entitledUntil: null, source: "sales", before: first },
      },
    ]);
  });

  test.each([
    ["a source of 1 character", { source: "s" }],
    ["a source of 40 characters", { source: "s".repeat(40) }],
    ["an end in the past", { entitledUntil: "1970-01-01T00:00:00Z" }],
    ["the last end", { entitledUntil: "9999-12-31T23:59:59.999Z" }],
    ...["free", "starter", "pro", "team", "enterprise"].map((plan): [string, object] => [`the plan ${plan}`, { plan }]),
  ])("accepts %s", async (_, fields) => {
    expect((await put({ userId: randomUUID(), plan: "pro", ...fields })).status).toBe(200);
  });

  test.each([
    ["no user", { userId: undefined }, "userId"],
    ["a user that is no uuid", { userId: "7" }, "userId"],
    ["a user that is a number", { userId: 7 }, "userId"],
    ["no plan", { plan: undefined }, "plan"],
    ["an unknown plan", { plan: "gold" }, "plan"],
    ["an end without a time zone", { entitledUntil: "2099-01-01T00:00:00" }, "entitledUntil"],
    ["an end that is a day", { entitledUntil: "2099-01-01" }, "entitledUntil"],
    ["an end on a day that does not exist", { entitledUntil: "2099-02-30T00:00:00Z" }, "entitledUntil"],
    ["an end as number", { entitledUntil: 4_070_908_800 }, "entitledUntil"],
    ["an end in the year 0", { entitledUntil: "0000-01-01T00:00:00Z" }, "entitledUntil"],
    ["an end in the year 10000", { entitledUntil: "9999-12-31T23:59:59-01:00" }, "entitledUntil"],
    ["an empty source", { source: "" }, "source"],
    ["a source of 41 characters", { source: "s".repeat(41) }, "source"],
    ["a source with a NUL character", { source: "a\u0000b" }, "source"],
    ["a source that is null", { source: null }, "source"],
    ["an unknown field", { colour: "red" }, "colour"],
  ])("refuses %s with 422 and the name of the field", async (_, fields, field) => {
    const reply = await put({ userId: randomUUID(), plan: "pro", ...fields });
    expectProblem(reply, 422, "validation_failed");
    expect(reply.body.errors.map((issue: { field: string }) => issue.field)).toEqual([field]);
  });
});

describe("reading a plan", () => {
  test("of somebody without one answers null", async () => {
    const reply = await read(`?userId=${randomUUID()}`);
    expect([reply.status, reply.body]).toEqual([200, { entitlement: null }]);
  });

  test.each([
    "",
    "?userId=",
    "?userId=ada",
    `?userId=${randomUUID()}&userId=${randomUUID()}`,
    `?userId=${randomUUID()}&x=1`,
  ])("with the query '%s' answers 422", async (query) => expectProblem(await read(query), 422, "validation_failed"));
});

describe("the door", () => {
  test("answers 401 without the secret, or with a wrong one, before it looks at the input", async () => {
    for (const call of [put, (body: unknown, headers: Record<string, string>) => read(`?x=${body}`, headers)]) {
      expectProblem(await call({}, {}), 401, "sign_in_required", /X-Internal-Secret/);
      expectProblem(
        await call({}, secret("wrong")),
        401,
        "invalid_credentials",
        "The value of X-Internal-Secret is wrong.",
      );
      expectProblem(await call({}, secret(SECRETS.INTERNAL_API_SECRET)), 401, "invalid_credentials");
      expectProblem(await call({}, { authorization: `Bearer ${ENTITLEMENTS_SECRET}` }), 401, "sign_in_required");
      const admin = { authorization: `Bearer ${quayside.adminToken}` };
      expectProblem(await call({}, admin), 401, "sign_in_required");
    }
  });

  test("answers 503 while the secret is unset", async () => {
    const reply = await closed.call("PUT", PATH, { body: {}, headers: secret() });
    expectProblem(reply, 503, "not_configured", /no ENTITLEMENTS_SECRET/);
    expectProblem(await closed.call("GET", PATH, { headers: secret() }), 503, "not_configured");
  });

  test("has no other method", async () => {
    const reply = await quayside.call("DELETE", PATH, { headers: secret() });
    expectProblem(reply, 405, "method_not_allowed");
  });
});

describe("a live key", () => {
  test("works as long as its owner's plan does, and verification goes on telling the plan as it is", async () => {
    const owner = await signUp("live-owner");
    await put({ userId: owner.uid, plan: "pro" });
    const { secret: key } = await quayside.makeKey(owner.token, { environment: "live" });
    const { secret: testKey } = await quayside.makeKey(owner.token);
    const use = (token: string) => quayside.call("GET", "/v1/crm/stats", { token });
    const verify = () => quayside.call("POST", "/v1/crm/api-keys/verify", { body: { key } });
    expect((await use(key)).status).toBe(200);

    await put({ userId: owner.uid, plan: "pro", entitledUntil: "2020-01-01T00:00:00Z" });
    await until("the key is refused", async () => (await use(key)).status === 402, 1_000);
    expectProblem(await use(key), 402, "live_key_requires_paid_plan", /needs an active paid plan/);
    expect((await use(testKey)).status).toBe(200);
    const lapsed = await verify();
    expect([lapsed.status, lapsed.body.plan, lapsed.body.entitledUntil]).toEqual([
      200,
      "pro",
      "2020-01-01T00:00:00.000Z",
    ]);

    await put({ userId: owner.uid, plan: "free" });
    await until("verification tells the plan", async () => (await verify()).body.plan === "free", 1_000);
    expectProblem(await use(key), 402, "live_key_requires_paid_plan");

    await put({ userId: owner.uid, plan: "starter", entitledUntil: "2099-01-01T00:00:00Z" });
    await until("the key works again", async () => (await use(key)).status === 200, 1_000);
  });

  test("ends with the plan by time alone", async () => {
    const owner = await signUp("short-owner");
    await put({ userId: owner.uid, plan: "pro", entitledUntil: new Date(Date.now() + 1_500).toISOString() });
    const { secret: key } = await quayside.makeKey(owner.token, { environment: "live" });
    await until("the plan ends", async () => {
      return (await quayside.call("GET", "/v1/crm/stats", { token: key })).status === 402;
    });
  });
});
