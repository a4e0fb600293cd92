import { createHmac, randomUUID } from "node:crypto";

export interface TestEvent {
  id: string;
  object: "event";
  type: string;
  /** Unix seconds. */
  created: number;
  data: { object: Record<string, unknown> };
}

interface Life {
  subscription: string;
  userId: string;
  plan?: string;
}

export const seconds = (text: string) => Date.parse(text) / 1_000;

export function paymentEvent(type: string, created: number, object: Record<string, unknown>): TestEvent {
  return { id: `evt_${randomUUID()}`, object: "event", type, created, data: { object } };
}

/** Events of one subscription, as the provider makes them; `more` replaces or adds fields of the object. */
export function subscriptionLife({ subscription, userId, plan = "pro" }: Life) {
  const metadata = { userId, plan };
  const state =
    (type: string) =>
    (created: number, status: string, period: [number, number], more: object = {}) =>
      paymentEvent(`customer.subscription.${type}`, created, {
        id: subscription,
        object: "subscription",
        status,
        metadata,
        customer: "cus_1",
        items: { data: [{ current_period_start: period[0], current_period_end: period[1] }] },
        ...more,
      });
  const invoice =
    (type: string) =>
    (created: number, period: [number, number], more: object = {}) =>
      paymentEvent(`invoice.${type}`, created, {
        id: `in_${created}`,
        object: "invoice",
        billing_reason: "subscription_cycle",
        parent: { type: "subscription_details", subscription_details: { subscription, metadata } },
        lines: { data: [{ amount: 1_000, period: { start: period[0], end: period[1] } }] },
        ...more,
      });
  return {
    created: state("created"),
    updated: state("updated"),
    deleted: state("deleted"),
    paid: invoice("paid"),
    failed: invoice("payment_failed"),
    checkout: (created: number, more: object = {}) =>
      paymentEvent("checkout.session.completed", created, {
        id: `cs_${subscription}`,
        object: "checkout.session",
        mode: "subscription",
        payment_status: "paid",
        subscription,
        client_reference_id: userId,
        metadata: { plan },
        ...more,
      }),
  };
}

/** The header `Stripe-Signature` of a body. */
export function signPayment(payload: string, secret: string, at = Math.floor(Date.now() / 1_000)): string {
  return `t=${at},v1=${createHmac("sha256", secret).update(`${at}.${payload}`).digest("hex")}`;
}
