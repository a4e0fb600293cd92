import { type PaymentEvent, PlatformError, paymentEvent } from "@quayside/contracts";
import { type Database, paymentEvents, withTransaction } from "@quayside/db";
import { eq } from "drizzle-orm";
import type { Context } from "../../platform/context.ts";
import { enqueue } from "../../platform/jobs.ts";
import { type EventFacts, kindOfPaymentEvent, readPaymentEvent } from "./read-payment-event.ts";
import { verifyPaymentSignature } from "./verify-payment-signature.ts";

export interface PaymentEventAnswer {
  received: true;
  handled: boolean;
}

/**
 * Takes an event of the payment provider (Stripe's wire format): checks who sent it, stores it, and leaves the work to a
 * job of the same transaction. Open to anybody; the signature is the credential. A replay is told the same and does
 * nothing. `handled` is false for kinds that are not for us and for events of which no user or plan is known.
 * Errors: `not_configured` (503), `invalid_signature` (401), `invalid_payment_event` (400).
 */
export async function receivePaymentEvent(
  ctx: Context,
  input: { payload: string; signature: string | null },
): Promise<PaymentEventAnswer> {
  const secret = ctx.config.PAYMENT_WEBHOOK_SECRET;
  if (secret === undefined) {
    throw new PlatformError("not_configured", "This is closed: the server has no PAYMENT_WEBHOOK_SECRET.");
  }
  await verifyPaymentSignature(input, secret, ctx.clock.now());
  const event = readEvent(input.payload);
  const kind = kindOfPaymentEvent(event);
  if (!kind) return { received: true, handled: false };
  const read = readPaymentEvent(event, kind);
  return withTransaction(ctx.db, async (tx) => {
    const handled = read !== null && (await isAttributable(tx, read));
    const [stored] = await tx.orm
      .insert(paymentEvents)
      .values({
        id: event.id,
        type: event.type,
        handled,
        subscriptionId: read?.subscriptionId ?? null,
        facts: read?.facts ?? null,
        createdAt: new Date(event.created * 1_000),
        receivedAt: ctx.clock.now(),
      })
      .onConflictDoNothing()
      .returning({ id: paymentEvents.id });
    if (!stored) return { received: true, handled: await answerOf(tx, event.id) };
    // Also without a user or plan: a later event of the same subscription may name them.
    if (read) await enqueue(tx, "identity.apply_payment_event", { eventId: event.id });
    return { received: true, handled };
  });
}

function readEvent(payload: string): PaymentEvent {
  let body: unknown;
  try {
    body = JSON.parse(payload);
  } catch (error) {
    throw notAnEvent("it is not JSON", error);
  }
  const event = paymentEvent.safeParse(body);
  if (event.success) return event.data;
  const [issue] = event.error.issues;
  throw notAnEvent(
    issue ? `'${issue.path.join(".")}' is not valid: ${issue.message}` : "its shape is another",
    event.error,
  );
}

function notAnEvent(reason: string, cause: unknown): PlatformError {
  return new PlatformError("invalid_payment_event", `The body is no payment event: ${reason}.`, {}, { cause });
}

/** Whether user and plan are known, from this event or from others of its subscription. */
async function isAttributable(tx: Database, { subscriptionId, facts }: EventFacts): Promise<boolean> {
  if (facts.user && facts.plan) return true;
  const [others] = await tx.sql<{ user: boolean | null; plan: boolean | null }[]>`
    SELECT bool_or(facts ->> 'user' IS NOT NULL) AS user, bool_or(facts ->> 'plan' IS NOT NULL) AS plan FROM (
      SELECT facts FROM payment_events WHERE subscription_id = ${subscriptionId}
      UNION ALL SELECT facts FROM payment_subscriptions WHERE id = ${subscriptionId}) AS known`;
  return (facts.user !== null || others?.user === true) && (facts.plan !== null || others?.plan === true);
}

async function answerOf(tx: Database, eventId: string): Promise<boolean> {
  const [row] = await tx.orm
    .select({ handled: paymentEvents.handled })
    .from(paymentEvents)
    .where(eq(paymentEvents.id, eventId));
  return row?.handled ?? false;
}
