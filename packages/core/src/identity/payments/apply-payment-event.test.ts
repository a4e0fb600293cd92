import { randomUUID } from "node:crypto";
import fc from "fast-check";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { seconds, signPayment, subscriptionLife, type TestEvent } from "../../../../../test/support/payment-events.ts";
import { openTestServices, type TestServices } from "../../../../../test/support/services.ts";
import type { Context } from "../../platform/context.ts";
import { pruneExpired } from "../../platform/prune-expired.ts";
import { putEntitlement } from "../entitlements/put-entitlement.ts";
import { readEntitlement } from "../entitlements/read-entitlement.ts";
import { applyPaymentEvent } from "./apply-payment-event.ts";
import { receivePaymentEvent } from "./receive-payment-event.ts";
import { refreshEntitlement } from "./settle-entitlement.ts";

const PAYMENT_WEBHOOK_SECRET = "whsec_for_tests_only_0000";
const DAY = 86_400;
const JAN = seconds("2026-01-01T00:00:00Z");
const FEB = seconds("2026-02-01T00:00:00Z");
const MAR = seconds("2026-03-01T00:00:00Z");

let world: TestServices;
let userId: string;

beforeAll(async () => {
  world = await openTestServices({ env: { PAYMENT_WEBHOOK_SECRET } });
});

afterAll(() => world.close());

beforeEach(() => {
  userId = randomUUID();
});

const anybody = (): Context => ({ ...world.system, override: null });
const entitlementOf = (user = userId) => readEntitlement(world.system, { userId: user });
const lifeOf = (subscription: string, plan = "pro", user = userId) =>
  subscriptionLife({ subscription: `${subscription}_${user}`, userId: user, plan });

function receive(event: TestEvent) {
  const payload = JSON.stringify(event);
  const at = Math.floor(world.clock.now().getTime() / 1_000);
  return receivePaymentEvent(anybody(), { payload, signature: signPayment(payload, PAYMENT_WEBHOOK_SECRET, at) });
}

const apply = (event: TestEvent) => applyPaymentEvent(world.system, { eventId: event.id });

async function take(...events: TestEvent[]): Promise<void> {
  for (const event of events) {
    await receive(event);
    await apply(event);
  }
}

const jobsFor = async (event: TestEvent) => {
  const [row] = await world.services.db.sql<{ jobs: number }[]>`
    SELECT count(*)::int AS jobs FROM graphile_worker._private_jobs WHERE payload::text LIKE ${`%${event.id}%`}`;
  return row?.jobs;
};

/** A life with ties: it ends past due, paid for, and then deleted. */
function wholeLife(life: ReturnType<typeof lifeOf>) {
  return [
    life.checkout(JAN),
    life.created(JAN, "incomplete", [JAN, FEB]),
    life.updated(JAN, "active", [JAN, FEB]),
    life.paid(JAN, [JAN, FEB]),
    life.updated(FEB, "active", [FEB, MAR]),
    life.failed(FEB + 3_600, [FEB, MAR]),
    life.updated(FEB + 3_600, "past_due", [FEB, MAR]),
    life.paid(FEB + DAY, [FEB, MAR]),
  ];
}

const told = async (user = userId) => {
  const entitlement = await entitlementOf(user);
  return entitlement && { plan: entitlement.plan, until: entitlement.entitledUntil, source: entitlement.source };
};

test("an event is stored with its job, applied once, and a replay is told the same and does nothing", async () => {
  const event = lifeOf("sub").created(JAN, "active", [JAN, FEB]);
  expect(await receive(event)).toEqual({ received: true, handled: true });
  expect(await entitlementOf()).toBeNull();
  await apply(event);
  expect(await told()).toEqual({ plan: "pro", until: "2026-02-01T00:00:00.000Z", source: "payments" });
  expect(await receive(event)).toEqual({ received: true, handled: true });
  expect(await jobsFor(event)).toBe(1);
  const before = await entitlementOf();
  await apply(event);
  expect(await entitlementOf()).toEqual(before);
});

test("ten deliveries of one event at once are one event and one job", async () => {
  const event = lifeOf("sub").created(JAN, "active", [JAN, FEB]);
  const answers = await Promise.all(Array.from({ length: 10 }, () => receive(event)));
  expect(new Set(answers.map((answer) => JSON.stringify(answer)))).toEqual(
    new Set(['{"received":true,"handled":true}']),
  );
  expect(await jobsFor(event)).toBe(1);
  await Promise.all(Array.from({ length: 4 }, () => apply(event)));
  const [row] = await world.services.db.sql<{ changes: number }[]>`
    SELECT count(*)::int AS changes FROM audit_events WHERE target = ${`user:${userId}`}`;
  expect(row?.changes).toBe(1);
});

test("what is kept of an event is what is used of it", async () => {
  const card = { default_payment_method: { card: { last4: "4242" } }, customer_email: "ada@example.com" };
  const event = lifeOf("sub").created(JAN, "active", [JAN, FEB], card);
  await take(event);
  const [row] = await world.services.db.sql<{ kept: string }[]>`
    SELECT (SELECT e::text FROM payment_events e WHERE id = ${event.id})
      || (SELECT s::text FROM payment_subscriptions s WHERE user_uid = ${userId}) AS kept`;
  expect(row?.kept).toContain("active");
  expect(row?.kept).not.toMatch(/4242|ada@|cus_1/);
});

test("whole lives in random orders, with replays, one after another or all at once, end the same", async () => {
  const order = fc.shuffledSubarray([...Array(8).keys(), ...Array(8).keys()], { minLength: 16, maxLength: 16 });
  await fc.assert(
    fc.asyncProperty(order, fc.boolean(), fc.boolean(), async (indexes, atOnce, ended) => {
      const user = randomUUID();
      const life = lifeOf("sub", "pro", user);
      const events = [...wholeLife(life)];
      if (ended) events[0] = life.deleted(FEB + DAY, "canceled", [FEB, MAR]);
      const sent = indexes.map((index) => events[index]).filter((event) => event !== undefined);
      await Promise.all(sent.map(receive));
      if (atOnce) await Promise.all(sent.map(apply));
      else for (const event of sent) await apply(event);
      expect(await told(user)).toEqual({
        plan: ended ? "free" : "pro",
        until: ended ? null : "2026-03-01T00:00:00.000Z",
        source: "payments",
      });
    }),
    { numRuns: 40 },
  );
});

test("two subscriptions of a user, applied at once, give the better plan, and the other when it ends", async () => {
  const [small, large] = [lifeOf("small", "starter"), lifeOf("large", "team")];
  const events = [small.created(JAN, "active", [JAN, MAR]), large.created(JAN, "active", [JAN, FEB])];
  await Promise.all(events.map(receive));
  await Promise.all(events.map(apply));
  expect(await told()).toMatchObject({ plan: "team", until: "2026-02-01T00:00:00.000Z" });
  const [job] = await world.services.db.sql<{ at: string; name: string }[]>`
    SELECT to_char(j.run_at AT TIME ZONE 'UTC', 'YYYY-MM-DD') AS at, t.identifier AS name
    FROM graphile_worker._private_jobs j JOIN graphile_worker._private_tasks t ON t.id = j.task_id
    WHERE j.key = ${`entitlement:${userId}`}`;
  expect(job).toEqual({ at: "2026-02-01", name: "identity.refresh_entitlement" });
  const later = { ...world.system, clock: { now: () => new Date(FEB * 1_000) } };
  await refreshEntitlement(later, { userId });
  expect(await told()).toMatchObject({ plan: "starter", until: "2026-03-01T00:00:00.000Z" });
});

test("four subscriptions of a user, applied at once, see each other", async () => {
  for (let round = 0; round < 15; round += 1) {
    const user = randomUUID();
    const lives = ["team", "starter", "enterprise", "pro"].map((plan) => lifeOf(plan, plan, user));
    const events = lives.map((life) => life.created(JAN, "active", [JAN, FEB]));
    await Promise.all(events.map(receive));
    await Promise.all(events.map(apply));
    expect(await told(user)).toMatchObject({ plan: "enterprise" });
  }
});

test("a subscription that goes over to another user takes its plan along", async () => {
  const other = randomUUID();
  const life = lifeOf("sub");
  const moved = life.updated(JAN + 5, "active", [JAN, FEB], { metadata: { userId: other, plan: "pro" } });
  await take(moved, life.created(JAN, "active", [JAN, FEB]));
  expect([await told(), (await told(other))?.plan]).toEqual([null, "pro"]);
  const back = life.updated(JAN + 9, "active", [JAN, FEB]);
  await take(back);
  expect([(await told())?.plan, (await told(other))?.plan]).toEqual(["pro", "free"]);
});

test("a plan set by hand stands until an event that was created later, whatever came first", async () => {
  const byHand = () => putEntitlement(world.system, { userId, plan: "enterprise", source: "sales" });
  const now = Math.floor(world.clock.now().getTime() / 1_000);
  const life = lifeOf("sub");
  await take(life.created(now - 60, "active", [JAN, FEB]));
  await byHand();
  await take(life.paid(now - 30, [JAN, FEB]), life.updated(now, "active", [JAN, FEB]));
  expect(await told()).toEqual({ plan: "enterprise", until: null, source: "sales" });
  await take(life.updated(now + 1, "active", [JAN, MAR]));
  expect(await told()).toEqual({ plan: "pro", until: "2026-03-01T00:00:00.000Z", source: "payments" });
  // Even when the provider's clock is ahead: what is set now is later than what is known.
  await byHand();
  expect(await told()).toEqual({ plan: "enterprise", until: null, source: "sales" });
  await take(life.deleted(now + 2, "canceled", [JAN, MAR]));
  expect(await told()).toEqual({ plan: "free", until: null, source: "payments" });
});

test("an event of nobody is stored and ignored, and counts once its user is known", async () => {
  const life = lifeOf("sub");
  const bare = life.created(JAN, "active", [JAN, FEB], { metadata: {} });
  expect(await receive(bare)).toEqual({ received: true, handled: false });
  await apply(bare);
  expect(await entitlementOf()).toBeNull();
  const invoice = life.paid(JAN, [JAN, FEB], { parent: { subscription_details: { subscription: `sub_${userId}` } } });
  expect(await receive(invoice)).toEqual({ received: true, handled: false });
  await take(life.checkout(JAN));
  expect(await told()).toMatchObject({ plan: "pro", until: "2026-02-01T00:00:00.000Z" });
  const again = life.paid(JAN + 1, [JAN, FEB], { parent: { subscription_details: { subscription: `sub_${userId}` } } });
  expect(await receive(again)).toEqual({ received: true, handled: true });
});

test("applied events go after 90 days, and one that comes again after that changes nothing", async () => {
  const life = lifeOf("sub");
  const [first, last] = [life.created(JAN, "active", [JAN, FEB]), life.deleted(FEB, "canceled", [JAN, FEB])];
  const waiting = life.paid(JAN, [JAN, FEB]);
  await take(first, last);
  await receive(waiting);
  const { sql } = world.services.db;
  await sql`UPDATE payment_events SET received_at = '2025-10-01T00:00:00Z' WHERE id IN (${first.id}, ${waiting.id})`;
  await pruneExpired(world.system);
  const left = await sql<{ id: string }[]>`
    SELECT id FROM payment_events WHERE id IN (${first.id}, ${last.id}, ${waiting.id})`;
  expect(left.map(({ id }) => id).sort()).toEqual([last.id, waiting.id].sort());
  const before = await entitlementOf();
  await take(first);
  expect(await entitlementOf()).toEqual(before);
});

test("only the platform itself applies events", async () => {
  await expect(applyPaymentEvent(anybody(), { eventId: "evt" })).rejects.toMatchObject({ code: "forbidden" });
  await expect(refreshEntitlement(anybody(), { userId })).rejects.toMatchObject({ code: "forbidden" });
  await expect(applyPaymentEvent(world.system, { eventId: "evt_unknown" })).resolves.toBeUndefined();
});
