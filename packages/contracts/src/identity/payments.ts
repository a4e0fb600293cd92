import { z } from "zod";
import { uuid } from "../platform/text.ts";
import { type Plan, plan } from "./api-keys.ts";

/** The body as it came and the header `Stripe-Signature`. */
export const receivePaymentEventInput = z.strictObject({
  payload: z.string().max(1_048_576),
  signature: z.string().max(65_536).nullable(),
});
export const receivePaymentEventOutput = z.object({
  received: z.literal(true),
  handled: z.boolean().describe("False: ignored, being of another kind or of nobody known."),
});

/** The kinds of events that become entitlements. */
export const PAYMENT_EVENT_KINDS = [
  "checkout.session.completed",
  "customer.subscription.created",
  "customer.subscription.updated",
  "customer.subscription.deleted",
  "invoice.paid",
  "invoice.payment_failed",
] as const;
export type PaymentEventKind = (typeof PAYMENT_EVENT_KINDS)[number];

const id = z
  .string()
  .max(255)
  .regex(/^[\x21-\x7e]+$/, "must be an id");
/** Until the end of the year 9999. */
const unixSeconds = z.int().min(0).max(253_402_300_799);

/** What makes a body an event of the payment provider. */
export const paymentEvent = z.object({
  id,
  object: z.literal("event").optional(),
  type: id,
  created: unixSeconds,
  data: z.object({ object: z.looseObject({}) }),
});
export type PaymentEvent = z.infer<typeof paymentEvent>;

/** What is missing, or of another shape than we know, is null: events carry much that is not for us. */
const known = <T extends z.ZodType>(schema: T) =>
  schema
    .nullable()
    .default(null as never)
    .catch(null as never);
const seconds = known(unixSeconds);
/** An id, or the whole object where the provider was asked to expand it. */
const reference = known(z.union([id, z.object({ id }).transform((object) => object.id)]));
const metadata = known(z.object({ userId: known(uuid), plan: known(plan) }));
const price = known(z.object({ lookup_key: known(z.string().max(255)) }));
const parent = known(z.object({ subscription_details: known(z.object({ subscription: reference, metadata })) }));

export const paymentSubscription = z.object({
  id: reference,
  status: known(z.string().max(50)),
  metadata,
  current_period_start: seconds,
  current_period_end: seconds,
  cancel_at: seconds,
  items: known(
    z.object({
      data: z
        .array(z.object({ current_period_start: seconds, current_period_end: seconds, price }))
        .max(1_000)
        .catch([]),
    }),
  ),
});

export const paymentInvoice = z.object({
  subscription: reference,
  parent,
  subscription_details: known(z.object({ metadata })),
  metadata,
  billing_reason: known(z.string().max(50)),
  lines: known(
    z.object({
      data: z
        .array(
          z.object({ amount: known(z.number()), period: known(z.object({ start: seconds, end: seconds })), price }),
        )
        .max(1_000)
        .catch([]),
    }),
  ),
});

export const paymentCheckout = z.object({
  id: reference,
  mode: known(z.string().max(50)),
  subscription: reference,
  client_reference_id: known(uuid),
  metadata,
  payment_status: known(z.string().max(50)),
});

/** Where a fact stands among facts of its kind; the greatest is the one that counts. */
export interface FactStamp {
  /** When the provider made the event, in Unix seconds. */
  created: number;
  /** Compared one number after the other, then the event's id. */
  order: number[];
  eventId: string;
}

export interface Fact<T> {
  at: FactStamp;
  value: T;
}

/** What one event, or all events of a subscription together, say. Times are Unix seconds. */
export interface SubscriptionFacts {
  user: Fact<string> | null;
  plan: Fact<Plan> | null;
  state: Fact<{
    status: string;
    periodStart: number | null;
    periodEnd: number | null;
    cancelAt: number | null;
  }> | null;
  paid: Fact<{ periodEnd: number | null }> | null;
  failed: Fact<{ periodStart: number | null; first: boolean }> | null;
  checkout: Fact<{ granted: boolean }> | null;
}
