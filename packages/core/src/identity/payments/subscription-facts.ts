import type { Fact, FactStamp, SubscriptionFacts } from "@quayside/contracts";

export const NO_FACTS: SubscriptionFacts = {
  user: null,
  plan: null,
  state: null,
  paid: null,
  failed: null,
  checkout: null,
};

/**
 * What two sets of events say together. Of each kind the fact with the greatest stamp counts, so the order in which
 * events arrive, and how often, makes no difference.
 */
export function joinFacts(one: SubscriptionFacts, other: SubscriptionFacts): SubscriptionFacts {
  return {
    user: later(one.user, other.user),
    plan: later(one.plan, other.plan),
    state: later(one.state, other.state),
    paid: later(one.paid, other.paid),
    failed: later(one.failed, other.failed),
    checkout: later(one.checkout, other.checkout),
  };
}

/** When the newest of the events was made, in Unix seconds. */
export function newestEventAt(facts: SubscriptionFacts): number {
  const { state, paid, failed, checkout } = facts;
  return Math.max(...[state, paid, failed, checkout].map((fact) => fact?.at.created ?? Number.NEGATIVE_INFINITY));
}

function later<T>(one: Fact<T> | null, other: Fact<T> | null): Fact<T> | null {
  if (!one || !other) return one ?? other;
  return compareStamps(one.at, other.at) >= 0 ? one : other;
}

function compareStamps(one: FactStamp, other: FactStamp): number {
  for (let i = 0; i < Math.max(one.order.length, other.order.length); i += 1) {
    const difference = (one.order[i] ?? 0) - (other.order[i] ?? 0);
    if (difference !== 0) return difference;
  }
  return one.eventId < other.eventId ? -1 : one.eventId > other.eventId ? 1 : 0;
}
