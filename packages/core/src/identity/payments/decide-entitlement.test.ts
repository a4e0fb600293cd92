import { randomUUID } from "node:crypto";
import { paymentEvent as paymentEventSchema } from "@quayside/contracts";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { paymentEvent, seconds, subscriptionLife, type TestEvent } from "../../../../../test/support/payment-events.ts";
import { decideEntitlement } from "./decide-entitlement.ts";
import { kindOfPaymentEvent, readPaymentEvent } from "./read-payment-event.ts";
import { joinFacts, NO_FACTS } from "./subscription-facts.ts";

const DAY = 86_400;
const JAN = seconds("2026-01-01T00:00:00Z");
const FEB = seconds("2026-02-01T00:00:00Z");
const MAR = seconds("2026-03-01T00:00:00Z");
const NOW = JAN + 10;
const userId = randomUUID();
const life = subscriptionLife({ subscription: "sub_1", userId });

/** What the events give, taken in the order given. */
function decide(events: readonly TestEvent[], now = NOW) {
  const subscriptions = new Map<string, typeof NO_FACTS>();
  for (const sent of events) {
    const event = paymentEventSchema.parse(sent);
    const kind = kindOfPaymentEvent(event);
    const read = kind && readPaymentEvent(event, kind);
    if (!read) continue;
    const { subscriptionId: id, facts } = read;
    subscriptions.set(id, joinFacts(subscriptions.get(id) ?? NO_FACTS, facts));
  }
  const list = [...subscriptions].map(([id, facts]) => ({ id, facts }));
  const decision = decideEntitlement(list, now);
  return decision && { plan: decision.plan, until: decision.until };
}

function* permutations<T>(items: readonly T[]): Generator<T[]> {
  if (items.length <= 1) yield [...items];
  for (const [i, item] of items.entries()) {
    for (const rest of permutations(items.toSpliced(i, 1))) yield [item, ...rest];
  }
}

const pro = (until: number | null) => ({ plan: "pro", until });
const FREE = { plan: "free", until: null };

describe("one subscription", () => {
  const { created, updated, deleted, paid, failed, checkout } = life;
  const renewal = [created(JAN, "active", [JAN, FEB]), updated(FEB, "active", [FEB, MAR])];
  test.each<[string, TestEvent[], { plan: string; until: number | null }]>([
    ["that is active entitles to the end of its period", [created(JAN, "active", [JAN, FEB])], pro(FEB)],
    ["on trial entitles to the end of the trial", [created(JAN, "trialing", [JAN, FEB])], pro(FEB)],
    ["that waits for its first payment entitles to nothing", [created(JAN, "incomplete", [JAN, FEB])], FREE],
    [
      "that is paid for in the second of its creation is active",
      [created(JAN, "incomplete", [JAN, FEB]), paid(JAN, [JAN, FEB])],
      pro(FEB),
    ],
    [
      "whose first payment failed entitles to nothing",
      [created(JAN, "incomplete", [JAN, FEB]), failed(JAN, [JAN, FEB], { billing_reason: "subscription_create" })],
      FREE,
    ],
    ["known by its failed payment alone entitles to nothing", [failed(JAN, [JAN, FEB])], FREE],
    ["known by its payment alone entitles to what was paid for", [paid(JAN, [JAN, FEB])], pro(FEB)],
    ["known by its checkout alone has no end yet", [checkout(JAN)], pro(null)],
    ["whose checkout is not paid yet entitles to nothing", [checkout(JAN, { payment_status: "unpaid" })], FREE],
    ["knows more than its checkout", [checkout(JAN + 5), created(JAN, "active", [JAN, FEB])], pro(FEB)],
    ["that is renewed entitles to the new end", renewal, pro(MAR)],
    [
      "paid ahead of the news of its renewal entitles to the new end",
      [created(JAN, "active", [JAN, FEB]), paid(FEB, [FEB, MAR])],
      pro(MAR),
    ],
    [
      "whose period was shortened after a payment ends earlier",
      [paid(JAN, [JAN, MAR]), updated(JAN + DAY, "active", [JAN, FEB])],
      pro(FEB),
    ],
    [
      "past due keeps access for 7 days of the unpaid period",
      [...renewal, failed(FEB + 3_600, [FEB, MAR]), updated(FEB + 3_600, "past_due", [FEB, MAR])],
      pro(FEB + 7 * DAY),
    ],
    [
      "with a failed renewal does so before it is told",
      [...renewal, failed(FEB + 3_600, [FEB, MAR])],
      pro(FEB + 7 * DAY),
    ],
    [
      "that is paid after all goes on",
      [...renewal, updated(FEB + 3_600, "past_due", [FEB, MAR]), paid(FEB + 2 * DAY, [FEB, MAR])],
      pro(MAR),
    ],
    [
      "that is active again goes on",
      [...renewal, failed(FEB + 3_600, [FEB, MAR]), updated(FEB + 2 * DAY, "active", [FEB, MAR])],
      pro(MAR),
    ],
    ["that stays unpaid entitles to nothing", [...renewal, updated(FEB + DAY, "unpaid", [FEB, MAR])], FREE],
    ["that is paused entitles to nothing", [...renewal, updated(FEB + DAY, "paused", [FEB, MAR])], FREE],
    ["in a state that nobody knows entitles to nothing", [created(JAN, "dreaming", [JAN, FEB])], FREE],
    ["that is deleted ends at once", [...renewal, deleted(FEB + DAY, "active", [FEB, MAR])], FREE],
    [
      "that is deleted does not come back by a last payment",
      [deleted(FEB, "canceled", [JAN, FEB]), paid(FEB + 1, [JAN, FEB])],
      FREE,
    ],
    ["to be cancelled ends then", [created(JAN, "active", [JAN, MAR], { cancel_at: FEB })], pro(FEB)],
    [
      "created, updated and deleted in one second is deleted",
      [
        deleted(JAN, "canceled", [JAN, FEB]),
        created(JAN, "incomplete", [JAN, FEB]),
        updated(JAN, "active", [JAN, FEB]),
      ],
      FREE,
    ],
    [
      "with the older fields of the wire format is read as well",
      [created(JAN, "active", [1, 2], { current_period_start: JAN, current_period_end: FEB, items: undefined })],
      pro(FEB),
    ],
    [
      "with an invoice in the older form is read as well",
      [
        created(JAN, "active", [JAN, FEB]),
        paid(FEB, [FEB, MAR], {
          parent: undefined,
          subscription: "sub_1",
          subscription_details: { metadata: { userId } },
        }),
      ],
      pro(MAR),
    ],
    [
      "with expanded references is read as well",
      [created(JAN, "active", [JAN, FEB]), paid(FEB, [FEB, MAR], { parent: undefined, subscription: { id: "sub_1" } })],
      pro(MAR),
    ],
  ])("%s", (_, events, expected) => {
    for (const order of permutations(events)) expect(decide(order)).toEqual(expected);
  });

  test("has its plan from the price where the metadata has none", () => {
    const items = { data: [{ current_period_end: FEB, price: { lookup_key: "team_yearly" } }] };
    expect(decide([created(JAN, "active", [JAN, FEB], { metadata: { userId }, items })])?.plan).toBe("team");
    const foreign = { data: [{ current_period_end: FEB, price: { lookup_key: "professional" } }] };
    expect(decide([created(JAN, "active", [JAN, FEB], { metadata: { userId }, items: foreign })])).toBeNull();
  });

  test("keeps its own plan when an invoice of a change gives money back for the old one", () => {
    const lines = {
      data: [
        { amount: -900, period: { start: JAN, end: FEB }, price: { lookup_key: "team" } },
        { amount: 300, period: { start: JAN, end: FEB }, price: { lookup_key: "starter" } },
      ],
    };
    const parent = { subscription_details: { subscription: "sub_1", metadata: { userId } } };
    const changed = updated(JAN + 5, "active", [JAN, FEB], { metadata: { userId, plan: "starter" } });
    const events = [created(JAN, "active", [JAN, FEB]), changed, paid(JAN + 9, [JAN, FEB], { lines, parent })];
    for (const order of permutations(events)) expect(decide(order)).toEqual({ plan: "starter", until: FEB });
  });

  test("takes user and plan from whichever of its events names them", () => {
    const bare = created(JAN, "active", [JAN, FEB], { metadata: {} });
    expect(decide([bare])).toBeNull();
    expect(decide([bare, checkout(JAN)])).toEqual(pro(FEB));
    expect(decide([checkout(JAN), bare])).toEqual(pro(FEB));
  });
});

describe("several subscriptions", () => {
  const other = subscriptionLife({ subscription: "sub_2", userId, plan: "team" });

  test("give the best plan that holds, and then the next", () => {
    const events = [life.created(JAN, "active", [JAN, MAR]), other.created(JAN, "active", [JAN, FEB])];
    for (const order of permutations(events)) {
      expect(decide(order)).toEqual({ plan: "team", until: FEB });
      expect(decide(order, FEB)).toEqual(pro(MAR));
      expect(decide(order, MAR)).toEqual(pro(MAR));
    }
  });

  test("give the one that is left when the other is cancelled", () => {
    const events = [
      life.created(JAN, "active", [JAN, MAR]),
      other.created(JAN, "active", [JAN, FEB]),
      other.deleted(JAN + 5, "canceled", [JAN, FEB]),
    ];
    for (const order of permutations(events)) expect(decide(order)).toEqual(pro(MAR));
  });

  test("are not needed for what is bought once", () => {
    const once = (created: number, more: object) =>
      paymentEvent("checkout.session.completed", created, {
        id: "cs_once",
        mode: "payment",
        client_reference_id: userId,
        metadata: { plan: "starter" },
        ...more,
      });
    expect(decide([once(JAN, { payment_status: "paid" })])).toEqual({ plan: "starter", until: null });
  });

  test("share an invoice that names no subscription", () => {
    const loose = life.paid(FEB, [FEB, MAR], { parent: undefined, metadata: { userId, plan: "pro" } });
    expect(decide([loose])).toEqual(pro(MAR));
    const events = [life.created(JAN, "active", [JAN, FEB]), loose];
    for (const order of permutations(events)) expect(decide(order)).toEqual(pro(MAR));
    const ended = [...events, life.deleted(FEB + 5, "canceled", [FEB, MAR])];
    for (const order of permutations(ended)) expect(decide(order)).toEqual(FREE);
  });
});

test("every order of a whole life, with ties and replays, ends the same", () => {
  const { created, updated, deleted, paid, failed, checkout } = life;
  const events = [
    checkout(JAN),
    created(JAN, "incomplete", [JAN, FEB]),
    updated(JAN, "active", [JAN, FEB]),
    paid(JAN, [JAN, FEB]),
    failed(FEB, [FEB, MAR]),
    updated(FEB, "past_due", [FEB, MAR]),
    paid(FEB + DAY, [FEB, MAR]),
  ];
  for (const order of permutations(events)) expect(decide(order)).toEqual(pro(MAR));
  const ended = [...events.slice(1), deleted(FEB + DAY, "canceled", [FEB, MAR])];
  for (const order of permutations(ended)) expect(decide(order)).toEqual(FREE);
});

test("any events, in any order, any number of times, end the same", () => {
  const status = fc.constantFrom("incomplete", "trialing", "active", "past_due", "unpaid", "canceled");
  // Few moments, so that many events are of one second.
  const moment = fc.integer({ min: JAN, max: JAN + 3 });
  const period = fc.integer({ min: 0, max: 3 }).map((i): [number, number] => [JAN + i * DAY, JAN + (i + 30) * DAY]);
  const lives = ["sub_1", "sub_2"].map((subscription) =>
    subscriptionLife({ subscription, userId, plan: subscription === "sub_1" ? "pro" : "team" }),
  );
  const event = fc.constantFrom(...lives).chain((one) =>
    fc.oneof(
      fc.tuple(moment, status, period).map((of) => one.created(...of)),
      fc.tuple(moment, status, period).map((of) => one.updated(...of)),
      fc.tuple(moment, status, period).map((of) => one.deleted(...of)),
      fc.tuple(moment, period).map((of) => one.paid(...of)),
      fc.tuple(moment, period).map((of) => one.failed(...of)),
      moment.map((at) => one.checkout(at)),
    ),
  );
  const orders = fc
    .array(event, { minLength: 1, maxLength: 12 })
    .chain((events) =>
      fc.tuple(
        fc.constant(events),
        fc.shuffledSubarray([...events, ...events], { minLength: events.length * 2, maxLength: events.length * 2 }),
      ),
    );
  fc.assert(
    fc.property(orders, ([one, other]) => {
      expect(decide(other)).toEqual(decide(one));
    }),
    { numRuns: 2_000 },
  );
});
