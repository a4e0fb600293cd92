import {
  type FactStamp,
  PAYMENT_EVENT_KINDS,
  type PaymentEvent,
  type PaymentEventKind,
  type Plan,
  paymentCheckout,
  paymentInvoice,
  paymentSubscription,
  plan as planSchema,
  type SubscriptionFacts,
} from "@quayside/contracts";
import { NO_FACTS } from "./subscription-facts.ts";

export interface EventFacts {
  /** The subscription, or what stands for one: see `looseKey`. */
  subscriptionId: string;
  facts: SubscriptionFacts;
}

/** Null for kinds of events that are not for us. */
export function kindOfPaymentEvent(event: PaymentEvent): PaymentEventKind | null {
  return PAYMENT_EVENT_KINDS.find((kind) => kind === event.type) ?? null;
}

/** What an event says of a subscription, and nothing else of it. Null when it belongs to no subscription and nobody. */
export function readPaymentEvent(event: PaymentEvent, kind: PaymentEventKind): EventFacts | null {
  if (kind === "checkout.session.completed") return readCheckout(event);
  if (kind === "invoice.paid" || kind === "invoice.payment_failed") return readInvoice(event, kind);
  return readSubscription(event, kind);
}

/**
 * An event that names a user and a plan but no subscription belongs to whatever subscription the user has, or is
 * itself the only word about the plan.
 */
export const LOOSE_PREFIX = "user:";

/** Words of a subscription about user and plan count before those of its invoices, and these before its checkout. */
const WORD_OF_CHECKOUT = 0;
const WORD_OF_INVOICE = 1;
const WORD_OF_SUBSCRIPTION = 2;

/** Subscriptions are created, then updated, then deleted, also within one second. */
const KIND_ORDER: Partial<Record<PaymentEventKind, number>> = {
  "customer.subscription.created": 0,
  "customer.subscription.updated": 1,
  "customer.subscription.deleted": 2,
};

/** The way a subscription goes; the later state counts when two events are of one second. */
const STATUS_ORDER = [
  "incomplete",
  "trialing",
  "active",
  "past_due",
  "unpaid",
  "paused",
  "incomplete_expired",
  "canceled",
];

function readSubscription(event: PaymentEvent, kind: PaymentEventKind): EventFacts | null {
  const subscription = paymentSubscription.parse(event.data.object);
  const items = subscription.items?.data ?? [];
  const status = kind === "customer.subscription.deleted" ? "canceled" : (subscription.status ?? "active");
  const periodEnd = subscription.current_period_end ?? greatest(items.map((item) => item.current_period_end));
  const periodStart = subscription.current_period_start ?? greatest(items.map((item) => item.current_period_start));
  const order = [KIND_ORDER[kind] ?? 0, STATUS_ORDER.indexOf(status), periodEnd ?? 0];
  return withOwner(event, subscription.id, {
    user: subscription.metadata?.userId ?? null,
    plan: subscription.metadata?.plan ?? planOfPrices(items),
    word: WORD_OF_SUBSCRIPTION,
    order,
    facts: {
      ...NO_FACTS,
      state: { at: stamp(event, order), value: { status, periodStart, periodEnd, cancelAt: subscription.cancel_at } },
    },
  });
}

function readInvoice(event: PaymentEvent, kind: "invoice.paid" | "invoice.payment_failed"): EventFacts | null {
  const invoice = paymentInvoice.parse(event.data.object);
  const details = invoice.parent?.subscription_details ?? null;
  const subscriptionMetadata = details?.metadata ?? invoice.subscription_details?.metadata ?? null;
  // A change of plan in mid-period adds a line that gives money back for the old plan.
  const lines = (invoice.lines?.data ?? []).filter((line) => (line.amount ?? 0) >= 0);
  const periodEnd = greatest(lines.map((line) => line.period?.end ?? null));
  const last = lines.find((line) => line.period?.end === periodEnd);
  const periodStart = last?.period?.start ?? null;
  const first = invoice.billing_reason === "subscription_create";
  return withOwner(event, invoice.subscription ?? details?.subscription ?? null, {
    user: invoice.metadata?.userId ?? subscriptionMetadata?.userId ?? null,
    plan: invoice.metadata?.plan ?? subscriptionMetadata?.plan ?? planOfPrices(lines),
    word: WORD_OF_INVOICE,
    order: [],
    facts:
      kind === "invoice.paid"
        ? { ...NO_FACTS, paid: { at: stamp(event, [periodEnd ?? 0]), value: { periodEnd } } }
        : { ...NO_FACTS, failed: { at: stamp(event, [periodStart ?? 0]), value: { periodStart, first } } },
  });
}

function readCheckout(event: PaymentEvent): EventFacts | null {
  const checkout = paymentCheckout.parse(event.data.object);
  // What was bought once has no subscription to end it and stands alone.
  const boughtOnce = checkout.mode === "payment" && checkout.subscription === null;
  const granted = checkout.mode !== "setup" && checkout.payment_status !== "unpaid";
  return withOwner(event, boughtOnce ? checkout.id : checkout.subscription, {
    user: checkout.metadata?.userId ?? checkout.client_reference_id,
    plan: checkout.metadata?.plan ?? null,
    word: WORD_OF_CHECKOUT,
    order: [],
    facts: { ...NO_FACTS, checkout: { at: stamp(event, [granted ? 1 : 0]), value: { granted } } },
  });
}

interface Words {
  user: string | null;
  plan: Plan | null;
  word: number;
  order: number[];
  facts: SubscriptionFacts;
}

function withOwner(event: PaymentEvent, subscriptionId: string | null, words: Words): EventFacts | null {
  const { user, plan, word, order } = words;
  const key = subscriptionId ?? (user !== null && plan !== null ? LOOSE_PREFIX + user : null);
  if (key === null) return null;
  const at: FactStamp = { created: event.created, order: [word, event.created, ...order], eventId: event.id };
  const facts: SubscriptionFacts = {
    ...words.facts,
    user: user === null ? null : { at, value: user },
    plan: plan === null ? null : { at, value: plan },
  };
  return { subscriptionId: key, facts };
}

function stamp(event: PaymentEvent, order: number[]): FactStamp {
  return { created: event.created, order: [event.created, ...order], eventId: event.id };
}

/** The best plan that a price's `lookup_key` names: `pro`, or `pro` with an ending such as `pro_yearly`. */
function planOfPrices(items: readonly { price: { lookup_key: string | null } | null }[]): Plan | null {
  const plans = items.map(({ price }) => planSchema.safeParse(price?.lookup_key?.split(/[_\-.:]/, 1)[0]).data);
  return planSchema.options.toReversed().find((plan) => plans.includes(plan)) ?? null;
}

function greatest(values: readonly (number | null)[]): number | null {
  const present = values.filter((value) => value !== null);
  return present.length === 0 ? null : Math.max(...present);
}
