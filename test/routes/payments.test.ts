import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { expectProblem } from "../support/expect-errors.ts";
import { paymentEvent, signPayment, subscriptionLife, type TestEvent } from "../support/payment-events.ts";
import { startTestQuayside, type TestQuayside } from "../support/quayside.ts";
import { sendRaw } from "../support/send-raw.ts";
import { connectTo } from "../support/sql.ts";
import { until } from "../support/until.ts";

const PAYMENT_WEBHOOK_SECRET = "whsec_for_tests_only_0000";
const ENTITLEMENTS_SECRET = "entitlements-secret-for-tests-00";
const PATH = "/v1/crm/internal/payments";
const now = () => Math.floor(Date.now() / 1_000);
const MONTH = 30 * 86_400;

let quayside: TestQuayside;
let sql: ReturnType<typeof connectTo>;

beforeAll(async () => {
  quayside = await startTestQuayside({ PAYMENT_WEBHOOK_SECRET, ENTITLEMENTS_SECRET });
  sql = connectTo(quayside.databaseUrl);
});

afterAll(async () => {
  await sql?.end();
  await quayside?.stop();
});

const post = (rawBody: string, signature: string | null = signPayment(rawBody, PAYMENT_WEBHOOK_SECRET)) =>
  quayside.call("POST", PATH, { rawBody, headers: signature === null ? {} : { "stripe-signature": signature } });
const send = (event: TestEvent) => post(JSON.stringify(event));

const entitlementOf = async (userId: string) => {
  const headers = { "x-internal-secret": ENTITLEMENTS_SECRET };
  return (await quayside.call("GET", `/v1/crm/internal/entitlements?userId=${userId}`, { headers })).body.entitlement;
};

const newLife = () => {
  const userId = randomUUID();
  return { userId, ...subscriptionLife({ subscription: `sub_${userId}`, userId }) };
};

describe("an event", () => {
  test("is answered at once and becomes an entitlement soon", async () => {
    const { userId, created } = newLife();
    const end = now() + MONTH;
    const reply = await send(created(now(), "active", [now(), end]));
    expect([reply.status, reply.body]).toEqual([200, { received: true, handled: true }]);
    const entitlement = await until("the entitlement is there", () => entitlementOf(userId));
    expect(entitlement).toEqual({
      userId,
      plan: "pro",
      entitledUntil: new Date(end * 1_000).toISOString(),
      source: "payments",
      updatedAt: expect.any(String),
    });
    const [audit] = await sql`SELECT action, actor FROM audit_events WHERE target = ${`user:${userId}`}`;
    expect(audit).toEqual({ action: "entitlement.changed", actor: "system:platform" });
  });

  test("that comes again is told the same and does nothing", async () => {
    const { userId, created } = newLife();
    const event = created(now(), "active", [now(), now() + MONTH]);
    const first = await send(event);
    const entitlement = await until("the entitlement is there", () => entitlementOf(userId));
    const again = await send(event);
    expect([again.status, again.text]).toEqual([200, first.text]);
    expect(await entitlementOf(userId)).toEqual(entitlement);
    const [row] = await sql`SELECT count(*)::int AS events FROM payment_events WHERE id = ${event.id}`;
    expect(row?.events).toBe(1);
  });

  test("that is late changes nothing: a cancelled subscription stays cancelled", async () => {
    const { userId, created, updated, deleted } = newLife();
    const period: [number, number] = [now(), now() + MONTH];
    await send(deleted(now(), "canceled", period));
    await until("it is cancelled", async () => (await entitlementOf(userId))?.plan === "free");
    const late = [created(now() - 20, "active", period), updated(now() - 10, "active", period)];
    for (const event of late) await send(event);
    await until("all are applied", async () => {
      const [row] =
        await sql`SELECT count(applied_at)::int AS applied FROM payment_events WHERE id IN ${sql(late.map((event) => event.id))}`;
      return row?.applied === 2;
    });
    expect(await entitlementOf(userId)).toMatchObject({ plan: "free", entitledUntil: null });
  });

  test("lets live keys be made", async () => {
    const { token } = await quayside.signUp("buyer");
    const { body: me } = await quayside.call("GET", "/api/v1/whoami", { token });
    const life = subscriptionLife({ subscription: "sub_buyer", userId: me.user.uid });
    const makeLive = () =>
      quayside.call("POST", "/v1/crm/api-keys", { token, body: { name: "n", environment: "live", scopes: ["read"] } });
    expect((await makeLive()).status).toBe(402);
    await send(life.checkout(now()));
    await until("a live key can be made", async () => (await makeLive()).status === 201);
  });

  test.each([
    ["charge.refunded", {}],
    ["customer.created", { metadata: { userId: randomUUID(), plan: "pro" } }],
    ["customer.subscription.trial_will_end", { id: "sub_1", metadata: { userId: randomUUID(), plan: "pro" } }],
  ])("of the kind %s is ignored with 200", async (type, object) => {
    const reply = await send(paymentEvent(type, now(), object));
    expect([reply.status, reply.body]).toEqual([200, { received: true, handled: false }]);
  });

  test.each([
    ["no user", { metadata: { plan: "pro" } }],
    ["no plan", { metadata: { userId: randomUUID() } }],
    ["no metadata", { metadata: null }],
    ["a user that is no uuid", { metadata: { userId: "ada", plan: "pro" } }],
    ["an unknown plan", { metadata: { userId: randomUUID(), plan: "gold" } }],
    ["metadata of another shape", { metadata: ["pro"] }],
  ])("with %s is stored and ignored with 200, also when it comes again", async (_, more) => {
    const { created } = newLife();
    const event = created(now(), "active", [now(), now() + MONTH], more);
    for (const reply of [await send(event), await send(event)]) {
      expect([reply.status, reply.body]).toEqual([200, { received: true, handled: false }]);
    }
    const [row] = await sql`SELECT handled FROM payment_events WHERE id = ${event.id}`;
    expect(row).toEqual({ handled: false });
  });
});

describe("a body that is no event", () => {
  const event = () => paymentEvent("invoice.paid", now(), {});
  test.each<[string, unknown]>([
    ["text", "hello"],
    ["null", null],
    ["a list", []],
    ["no id", { ...event(), id: undefined }],
    ["an empty id", { ...event(), id: "" }],
    ["an id with a NUL character", { ...event(), id: "evt\u0000" }],
    ["an id of 256 characters", { ...event(), id: "e".repeat(256) }],
    ["no type", { ...event(), type: undefined }],
    ["no time", { ...event(), created: undefined }],
    ["a time as text", { ...event(), created: "2026-01-01T00:00:00Z" }],
    ["a time before 1970", { ...event(), created: -1 }],
    ["a time after the year 9999", { ...event(), created: 253_402_300_800 }],
    ["no data", { ...event(), data: undefined }],
    ["data without an object", { ...event(), data: {} }],
    ["another kind of object", { ...event(), object: "v2.core.event" }],
  ])("%s is 400", async (_, body) => {
    expectProblem(await post(JSON.stringify(body)), 400, "invalid_payment_event", /^The body is no payment event: /);
  });

  test("a body that is no JSON is 400", async () => {
    expectProblem(await post("{"), 400, "invalid_payment_event", "The body is no payment event: it is not JSON.");
  });

  test("an id of 255 characters and unknown fields are fine", async () => {
    const reply = await post(JSON.stringify({ ...event(), id: "e".repeat(255), livemode: false, __proto__: 1 }));
    expect(reply.status).toBe(200);
  });
});

describe("the signature", () => {
  const body = JSON.stringify(paymentEvent("charge.refunded", 1, {}));
  const sign = (at: number, secret = PAYMENT_WEBHOOK_SECRET) => signPayment(body, secret, at);

  test("may be 5 minutes old or ahead, and no more", async () => {
    expect((await post(body, sign(now() - 290))).status).toBe(200);
    expect((await post(body, sign(now() + 290))).status).toBe(200);
    expectProblem(await post(body, sign(now() - 310)), 401, "invalid_signature", /older than 5 minutes/);
    expectProblem(await post(body, sign(now() + 310)), 401, "invalid_signature", /5 minutes ahead/);
  });

  test("may be one of several, as while a secret is rotated", async () => {
    const at = now();
    const [, good] = sign(at).split(",");
    const [, bad] = sign(at, "whsec_of_somebody_else").split(",");
    expect((await post(body, `t=${at},${bad},${good}`)).status).toBe(200);
  });

  test.each<[string, () => string | null]>([
    ["is missing", () => null],
    ["is empty", () => ""],
    ["is nonsense", () => "nonsense"],
    ["has no time", () => sign(now()).replace(/^t=\d+,/, "")],
    ["has a time that is no number", () => sign(now()).replace(/^t=\d+/, "t=soon")],
    ["has no value", () => `t=${now()},v1`],
    ["is of another secret", () => sign(now(), "whsec_of_somebody_else")],
    ["is of another scheme", () => sign(now()).replace("v1=", "v0=")],
    ["is of another time", () => sign(now()).replace(/^t=\d+/, `t=${now() - 7}`)],
  ])("that %s is 401", async (_, signature) => {
    expectProblem(await post(body, signature()), 401, "invalid_signature");
  });

  test("is of the very bytes that came", async () => {
    expectProblem(await post(`${body} `, sign(now())), 401, "invalid_signature");
    expectProblem(await post("", signPayment("", PAYMENT_WEBHOOK_SECRET)), 401, "invalid_signature");
    const spaced = JSON.stringify(JSON.parse(body), null, 2);
    expect((await post(spaced)).status).toBe(200);
    // Bytes that are no text must not be signed as the text that they would be read as.
    const headers = { "stripe-signature": signPayment("{\ufffd}", PAYMENT_WEBHOOK_SECRET) };
    const chunks = [Buffer.from([0x7b, 0xff, 0x7d])];
    const reply = await sendRaw(quayside.baseUrl, { method: "POST", path: PATH, headers, chunks });
    expect([reply.status, JSON.parse(reply.text).code]).toEqual([400, "malformed_body"]);
  });

  test("is asked for before the body is looked at", async () => {
    expectProblem(await post("{", null), 401, "invalid_signature", "This needs the header Stripe-Signature.");
  });

  test("does not need a content type", async () => {
    const headers = { "stripe-signature": sign(now()) };
    const reply = await sendRaw(quayside.baseUrl, { method: "POST", path: PATH, headers, chunks: [body] });
    expect([reply.status, JSON.parse(reply.text)]).toEqual([200, { received: true, handled: false }]);
  });
});

test("a body over 1 MiB is 413", async () => {
  expectProblem(await post("x".repeat(1_048_577), "t=1,v1=0"), 413, "payload_too_large");
});

test("without a webhook secret the door is closed with 503", async () => {
  // Outside production a missing secret is generated.
  const closed = await startTestQuayside({ NODE_ENV: "production" }, "api");
  try {
    const body = JSON.stringify(paymentEvent("invoice.paid", now(), {}));
    const headers = { "stripe-signature": signPayment(body, PAYMENT_WEBHOOK_SECRET) };
    const reply = await closed.call("POST", PATH, { rawBody: body, headers });
    expectProblem(reply, 503, "not_configured", /no PAYMENT_WEBHOOK_SECRET/);
    expectProblem(await closed.call("POST", PATH, { rawBody: "{" }), 503, "not_configured");
  } finally {
    await closed.stop();
  }
});
