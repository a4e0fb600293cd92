import fc from "fast-check";
import { expect, test } from "vitest";
import { isAccepted, resultOf } from "./attempt-result.ts";
import { retryDelay } from "./retry-delay.ts";
import { outcomeOf } from "./testing/outbox.ts";

const NOW_MS = Date.parse("2026-01-01T00:00:00.000Z");
const TIMES = { nowMs: NOW_MS, retryBaseMs: 1_000 };
const delivery = (attempt: number, maxAttempts = 4) => ({
  id: "d",
  attempt,
  maxAttempts,
  eventId: "e",
  type: "person.created",
  data: "{}",
  occurredAt: NOW_MS,
  organizationId: "o",
});
const delayOf = (attempt: number, maxAttempts: number) =>
  (resultOf(delivery(attempt, maxAttempts), outcomeOf({ statusCode: 500 }), TIMES).nextAttemptAt?.getTime() ?? 0) -
  NOW_MS;

test("each delay is four times the one before, give or take a fifth", () => {
  expect([1, 2, 3].map((attempt) => retryDelay(attempt, 5_000, null, 0.5))).toEqual([5_000, 20_000, 80_000]);
  expect([0, 1].map((random) => retryDelay(1, 5_000, null, random))).toEqual([4_000, 6_000]);
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 3 }), fc.integer({ min: 1, max: 3_600_000 }), (attempt, baseMs) => {
      const middle = baseMs * 4 ** (attempt - 1);
      const delay = retryDelay(attempt, baseMs, null);
      expect(delay).toBeGreaterThanOrEqual(Math.floor(middle * 0.8));
      expect(delay).toBeLessThanOrEqual(Math.ceil(middle * 1.2));
    }),
  );
});

test("delays of many are spread, so that they do not come at once", () => {
  const delays = new Set(Array.from({ length: 100 }, () => retryDelay(1, 100_000, null)));
  expect(delays.size).toBeGreaterThan(90);
});

test("a receiver that asks for more time gets it; one that asks for less gets no retry sooner", () => {
  expect(retryDelay(1, 5_000, 60_000, 0.5)).toBe(60_000);
  expect(retryDelay(1, 5_000, 0, 0.5)).toBe(5_000);
});

test("a 2xx that came to its end is accepted, and nothing else is", () => {
  expect([200, 204, 299].map((statusCode) => isAccepted(outcomeOf({ statusCode })))).toEqual([true, true, true]);
  expect([199, 300, 307, 404, 500].some((statusCode) => isAccepted(outcomeOf({ statusCode })))).toBe(false);
  expect(isAccepted(outcomeOf({ error: { class: "timeout", message: "late" } }))).toBe(false);
});

test("the fourth attempt is the last, and so is one that was answered with 410", () => {
  expect(resultOf(delivery(3), outcomeOf({ statusCode: 500 }), TIMES)).toMatchObject({ outcome: "retry" });
  const last = { outcome: "failed", nextAttemptAt: null, error: "The receiver answered 500." };
  expect(resultOf(delivery(4), outcomeOf({ statusCode: 500 }), TIMES)).toMatchObject(last);
  expect(resultOf(delivery(1), outcomeOf({ statusCode: 410 }), TIMES)).toMatchObject({ outcome: "failed" });
});

test("attempts that came to nothing do not make the next delay longer", () => {
  // One of two attempts broke off, and five before a resend.
  for (const [attempt, maxAttempts] of [[2, 5] as const, [6, 9] as const]) {
    expect(delayOf(attempt, maxAttempts)).toBeGreaterThanOrEqual(800);
    expect(delayOf(attempt, maxAttempts)).toBeLessThanOrEqual(1_200);
  }
});
