import { type Plan, plan as planSchema, type SubscriptionFacts } from "@quayside/contracts";
import { LOOSE_PREFIX } from "./read-payment-event.ts";
import { joinFacts, NO_FACTS, newestEventAt } from "./subscription-facts.ts";

/** An unpaid period still gives access for this long from its start. */
const GRACE_SECONDS = 7 * 86_400;
/** States that a payment ends. */
const WAITING_FOR_PAYMENT = ["incomplete", "past_due", "unpaid", "paused"];

interface Claim {
  plan: Plan;
  /** Unix seconds; null: without an end. */
  until: number | null;
}

export interface Decision {
  plan: Plan;
  /** Unix seconds; null: without an end. */
  until: number | null;
  /** When the newest event was made, in Unix seconds. */
  newestEventAt: number;
  /** When another subscription takes over from this one, in Unix seconds. */
  decideAgainAt: number | null;
}

/**
 * The entitlement that a user's subscriptions give together: the best plan that holds now; else what ended last; else
 * the free plan. It depends on the facts and the time alone, not on the way there. Null when there is no subscription.
 */
export function decideEntitlement(
  subscriptions: readonly { id: string; facts: SubscriptionFacts }[],
  nowSeconds: number,
): Decision | null {
  const known = attachLoose(subscriptions).filter(({ plan }) => plan !== null);
  if (known.length === 0) return null;
  const claims = known.map(claimOf).filter((claim) => claim !== null);
  const newest = Math.max(...known.map(newestEventAt));
  const holding = claims.filter(({ until }) => until === null || until > nowSeconds);
  const [best, next] = holding.sort((one, other) => rankOf(other.plan) - rankOf(one.plan) || later(one, other));
  if (best) return { ...best, newestEventAt: newest, decideAgainAt: next ? best.until : null };
  const [last] = claims.sort((one, other) => later(one, other) || rankOf(other.plan) - rankOf(one.plan));
  return { ...(last ?? { plan: "free", until: null }), newestEventAt: newest, decideAgainAt: null };
}

/** Events without a subscription belong to each that the user has; where there is none, they stand for one. */
function attachLoose(subscriptions: readonly { id: string; facts: SubscriptionFacts }[]): SubscriptionFacts[] {
  const loose = subscriptions.filter(({ id }) => id.startsWith(LOOSE_PREFIX)).map(({ facts }) => facts);
  const own = subscriptions.filter(({ id }) => !id.startsWith(LOOSE_PREFIX)).map(({ facts }) => facts);
  if (own.length === 0) return loose;
  const together = loose.reduce(joinFacts, NO_FACTS);
  return own.map((facts) => {
    const { paid, failed } = joinFacts(facts, together);
    return { ...facts, paid, failed };
  });
}

/** What one subscription entitles to, whether it holds now or not. Null: to nothing. */
function claimOf(facts: SubscriptionFacts): Claim | null {
  const plan = facts.plan?.value;
  if (plan === undefined || plan === "free") return null;
  const { state, paid, failed, checkout } = facts;
  const paidAt = paid?.at.created ?? Number.NEGATIVE_INFINITY;
  const failedAt = failed?.at.created ?? Number.NEGATIVE_INFINITY;
  if (state) {
    const { status } = state.value;
    const recovered = WAITING_FOR_PAYMENT.includes(status) && paidAt >= state.at.created && paidAt >= failedAt;
    if (status === "past_due" && !recovered) return { plan, until: graceOf(facts) };
    if (status !== "active" && status !== "trialing" && !recovered) return null;
  }
  const failing = failed !== null && failedAt > paidAt && failedAt >= (state?.at.created ?? failedAt);
  if (failing) {
    const never = paid === null && (state === null || failed.value.first);
    return never ? null : { plan, until: graceOf(facts) };
  }
  if (!state && !paid) return checkout?.value.granted ? { plan, until: null } : null;
  return { plan, until: endOf(facts) };
}

/** The end of what is paid for. */
function endOf({ state, paid }: SubscriptionFacts): number | null {
  const periodEnd = state?.value.periodEnd ?? null;
  const paidUntil = paid?.value.periodEnd ?? null;
  // An older payment says nothing of a period that was changed since.
  const paidCounts = periodEnd === null || (paid !== null && state !== null && paid.at.created >= state.at.created);
  const ends = [periodEnd, paidCounts ? paidUntil : null].filter((end) => end !== null);
  const end = ends.length === 0 ? null : Math.max(...ends);
  const cancelAt = state?.value.cancelAt ?? null;
  return cancelAt !== null && (end === null || cancelAt < end) ? cancelAt : end;
}

function graceOf({ state, failed }: SubscriptionFacts): number {
  const starts = [state?.value.periodStart ?? null, failed?.value.periodStart ?? null].filter((at) => at !== null);
  const start = starts.length > 0 ? Math.max(...starts) : (failed?.at.created ?? state?.at.created ?? 0);
  return start + GRACE_SECONDS;
}

function rankOf(plan: Plan): number {
  return planSchema.options.indexOf(plan);
}

/** Sorts the claim that ends later first. */
function later(one: Claim, other: Claim): number {
  const [a, b] = [one.until ?? Number.POSITIVE_INFINITY, other.until ?? Number.POSITIVE_INFINITY];
  return a === b ? 0 : b > a ? 1 : -1;
}
