import type { SendOutcome } from "../sending/send-progress.ts";
import type { ClaimedDelivery } from "./claim-deliveries.ts";
import type { AttemptResult } from "./record-attempts.ts";
import { MAX_ATTEMPTS, retryDelay } from "./retry-delay.ts";

const GONE = 410;

/** The same bytes in every attempt; the id is the event's. */
export function bodyOf(delivery: ClaimedDelivery): Buffer {
  const { eventId: id, type, organizationId } = delivery;
  const head = JSON.stringify({ id, type, createdAt: new Date(delivery.occurredAt).toISOString(), organizationId });
  return Buffer.from(`${head.slice(0, -1)},"data":${delivery.data}}`);
}

/** A 2xx whose body came to its end in time, or to the size that is read. */
export function isAccepted({ statusCode, error }: SendOutcome): boolean {
  return error === null && statusCode !== null && statusCode >= 200 && statusCode < 300;
}

/** What is stored of an attempt, and when the next one is due. */
export function resultOf(
  delivery: ClaimedDelivery,
  outcome: SendOutcome,
  { nowMs, retryBaseMs }: { nowMs: number; retryBaseMs: number },
): AttemptResult {
  const { statusCode, durationMs, error, responseBody, truncated, address, timings } = outcome;
  const accepted = isAccepted(outcome);
  const nextAttemptAt = accepted ? null : nextAttempt(delivery, outcome, nowMs, retryBaseMs);
  return {
    deliveryId: delivery.id,
    attempt: delivery.attempt,
    outcome: accepted ? "delivered" : nextAttemptAt ? "retry" : "failed",
    nextAttemptAt,
    statusCode,
    durationMs,
    errorClass: error?.class ?? null,
    error: error?.message ?? (accepted ? null : `The receiver answered ${statusCode}.`),
    responseBody,
    truncated,
    address,
    timings,
  };
}

function nextAttempt(
  { attempt, maxAttempts }: ClaimedDelivery,
  { statusCode, retryAfterMs }: SendOutcome,
  nowMs: number,
  retryBaseMs: number,
): Date | null {
  if (attempt >= maxAttempts || statusCode === GONE) return null;
  // Attempts that broke off, and those before a resend, raised the maximum; they do not count.
  const failures = attempt - (maxAttempts - MAX_ATTEMPTS);
  return new Date(nowMs + retryDelay(failures, retryBaseMs, retryAfterMs));
}
