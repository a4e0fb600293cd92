import fc from "fast-check";
import { expect, test } from "vitest";
import { Pace } from "./pace.ts";

const ANSWER_MS = 3;
const AT_ONCE = 20;
const RETRY_MS = 5_000;

/** A receiver that refuses what comes above its limit in any second, and a sender that goes by a pace; virtual time. */
function simulate(limit: number, deliveries: number, untilMs: number) {
  const pace = new Pace(null, 0);
  const taken: number[] = [];
  const underWay: { endMs: number; ok: boolean }[] = [];
  const retries: number[] = [];
  const seen = { delivered: 0, sentAfterRamp: 0, refusedAfterRamp: 0, endMs: 0 };
  let waiting = deliveries;
  for (let nowMs = 0; nowMs < untilMs && seen.delivered < deliveries; nowMs++) {
    while ((underWay[0]?.endMs ?? Number.POSITIVE_INFINITY) <= nowMs) {
      if (underWay.shift()?.ok) {
        pace.accepted(nowMs);
        seen.delivered += 1;
      } else {
        pace.refused(nowMs);
        retries.push(nowMs + RETRY_MS);
      }
    }
    while ((retries[0] ?? Number.POSITIVE_INFINITY) <= nowMs) {
      retries.shift();
      waiting += 1;
    }
    const room = Math.floor(Math.min(AT_ONCE - underWay.length, pace.available(nowMs), waiting));
    if (room >= 1) pace.sent(room);
    for (let begun = 0; begun < room; begun++) {
      waiting -= 1;
      while ((taken[0] ?? nowMs) <= nowMs - 1_000) taken.shift();
      const ok = taken.length < limit;
      if (ok) taken.push(nowMs);
      if (nowMs > 10_000) seen.sentAfterRamp += 1;
      if (nowMs > 10_000 && !ok) seen.refusedAfterRamp += 1;
      underWay.push({ endMs: nowMs + ANSWER_MS, ok });
    }
    seen.endMs = nowMs;
  }
  return seen;
}

test("an endpoint that never refuses is not held back", () => {
  const pace = new Pace(null, 0);
  for (let nowMs = 0; nowMs < 1_000; nowMs++) {
    expect(pace.available(nowMs)).toBe(Number.POSITIVE_INFINITY);
    pace.sent(10);
    pace.accepted(nowMs);
  }
  expect(pace.perSecond).toBeNull();
});

test("a receiver with a limit of 50 a second gets 10,000 deliveries, and refuses few of them after the ramp", () => {
  const seen = simulate(50, 10_000, 400_000);
  expect(seen.delivered).toBe(10_000);
  expect(seen.refusedAfterRamp / seen.sentAfterRamp).toBeLessThan(0.05);
  // 200 s would be the best possible.
  expect(seen.endMs).toBeLessThan(270_000);
});

test("whatever the limit is, few are refused after the ramp and the limit is mostly used", () => {
  fc.assert(
    fc.property(fc.integer({ min: 5, max: 400 }), (limit) => {
      const seconds = 60;
      const seen = simulate(limit, 1_000_000, seconds * 1_000);
      expect(seen.refusedAfterRamp / seen.sentAfterRamp).toBeLessThan(0.05);
      expect(seen.delivered).toBeGreaterThan(limit * seconds * 0.55);
    }),
    { numRuns: 30 },
  );
});

test("a pace that was learnt before is kept from the start", () => {
  const pace = new Pace(10, 0);
  let sent = 0;
  for (let nowMs = 0; nowMs <= 10_000; nowMs += 10) {
    const room = pace.available(nowMs);
    pace.sent(room);
    sent += room;
  }
  expect(sent).toBeGreaterThanOrEqual(98);
  expect(sent).toBeLessThanOrEqual(120);
});

test("no pace falls below one a second, and the wait for the next one is told", () => {
  const pace = new Pace(null, 0);
  for (let nowMs = 0; nowMs < 20_000; nowMs += 1_000) pace.refused(nowMs);
  expect(pace.perSecond).toBeGreaterThanOrEqual(1);
  const wait = pace.waitMs(19_100);
  expect(wait).toBeGreaterThan(0);
  expect(pace.available(19_100 + wait)).toBeGreaterThanOrEqual(1);
});

test("a receiver that refused everything for a while soon has its old pace", () => {
  const pace = new Pace(null, 0);
  let nowMs = 0;
  for (; nowMs < 30_000; nowMs += 100) pace.refused(nowMs);
  expect(pace.perSecond).toBe(1);
  for (; nowMs < 100_000 && (pace.perSecond ?? 0) < 100; nowMs += 10) {
    while (pace.available(nowMs) >= 1) pace.sent(pace.available(nowMs));
  }
  expect(nowMs).toBeLessThan(90_000);
});

test("a pace that is not used to the full does not grow", () => {
  const pace = new Pace(10, 0);
  for (let nowMs = 0; nowMs < 3_600_000; nowMs += 1_000) {
    if (pace.available(nowMs) >= 1) pace.sent(1);
  }
  expect(pace.perSecond).toBeLessThan(20);
});
