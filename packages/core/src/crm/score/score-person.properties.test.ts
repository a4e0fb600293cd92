import fc from "fast-check";
import { expect, test } from "vitest";
import { newPerson } from "../people/change-person.ts";
import type { PersonState } from "../people/person-state.ts";
import { withEngagement } from "../timeline/record-touchpoints.ts";
import { decay, nextScoreDrop, type ScoreFacts, scorePerson } from "./score-person.ts";

const DAY_MS = 86_400_000;
const NOW_MS = Date.parse("2026-06-01T12:00:00Z");

const attributeValue = fc.oneof(fc.string(), fc.integer(), fc.constant(null), fc.constant({}), fc.constant(["x"]));
const names = [
  "title",
  "job_title",
  "jobTitle",
  "role",
  "position",
  "phone",
  "mobile",
  "tel",
  "constructor",
  "toString",
];
const engagement = fc.oneof(
  fc.constant(0),
  fc.double({ min: 0, max: 200, noNaN: true }),
  fc.double({ min: 0, max: 1e9, noNaN: true }),
  fc.constantFrom(5e-324, 1e-300, 0.18, 0.1814, 1e300),
);
const facts: fc.Arbitrary<ScoreFacts> = fc
  .record({
    email: fc.option(fc.constantFrom("a@acme.example", "a@gmail.com", "A@GMX.DE")),
    domain: fc.option(fc.constantFrom("acme.example", "gmail.com")),
    name: fc.option(fc.string({ minLength: 1 })),
    companyId: fc.option(fc.uuid()),
    tags: fc.array(fc.string(), { maxLength: 3 }),
    attributes: fc.dictionary(fc.constantFrom(...names), attributeValue, { noNullPrototype: true }),
    total: engagement,
    share: fc.double({ min: 0, max: 1, noNaN: true }),
    engagementAt: fc.option(fc.integer({ min: NOW_MS - 3_000 * DAY_MS, max: NOW_MS }), { freq: 10 }),
  })
  .map(({ total, share, engagementAt, ...rest }) => ({
    ...rest,
    engagementAt,
    engagement: engagementAt === null ? 0 : total * share,
    engagementTotal: engagementAt === null ? 0 : total,
  }));

test("the impacts add up to the components, and those to a score from 0 to 100", () => {
  fc.assert(
    fc.property(facts, fc.nat({ max: 10_000 }), (given, days) => {
      const { score, components, reasons } = scorePerson(given, NOW_MS + days * DAY_MS);
      expect(reasons.reduce((sum, { impact }) => sum + impact, 0)).toBe(score);
      expect(components.fit + components.engagement + components.completeness).toBe(score);
      expect(Number.isInteger(score) && score >= 0 && score <= 100).toBe(true);
      expect(components.fit).toBeLessThanOrEqual(40);
      expect(components.engagement).toBeLessThanOrEqual(40);
      expect(components.completeness).toBeLessThanOrEqual(20);
      for (const points of Object.values(components)) expect(points).toBeGreaterThanOrEqual(0);
      expect(new Set(reasons.map(({ label }) => label)).size).toBe(reasons.length);
    }),
    { numRuns: 2_000 },
  );
});

test("without touchpoints a score never rises", () => {
  fc.assert(
    fc.property(facts, fc.nat(400 * DAY_MS), fc.nat(400 * DAY_MS), (given, first, second) => {
      const [early, late] = [NOW_MS + first, NOW_MS + first + second];
      expect(scorePerson(given, late).score).toBeLessThanOrEqual(scorePerson(given, early).score);
    }),
    { numRuns: 2_000 },
  );
});

test("the next drop is where the score loses one point, and not before", () => {
  fc.assert(
    fc.property(facts, fc.nat(200 * DAY_MS), (given, later) => {
      const nowMs = NOW_MS + later;
      const dropMs = nextScoreDrop(given, nowMs);
      const scoreAt = (ms: number) => scorePerson(given, ms).score;
      if (dropMs === null) {
        expect(scorePerson(given, nowMs).components.engagement).toBe(0);
        return;
      }
      expect(Number.isSafeInteger(dropMs)).toBe(true);
      expect(dropMs).toBeGreaterThan(nowMs);
      expect(scoreAt(dropMs)).toBe(scoreAt(nowMs) - 1);
      // It is rounded up by a millisecond, so that the stored score is never looked at too early.
      expect(scoreAt(Math.max(nowMs, dropMs - 2))).toBe(scoreAt(nowMs));
    }),
    { numRuns: 3_000 },
  );
});

test("drop after drop leads to no engagement points, a point at a time", () => {
  fc.assert(
    fc.property(facts, (given) => {
      let nowMs = NOW_MS;
      let { engagement: points } = scorePerson(given, nowMs).components;
      for (let dropMs = nextScoreDrop(given, nowMs); dropMs !== null; dropMs = nextScoreDrop(given, nowMs)) {
        nowMs = dropMs;
        points -= 1;
        expect(scorePerson(given, nowMs).components.engagement).toBe(points);
      }
      expect(points).toBe(0);
    }),
    { numRuns: 500 },
  );
});

const touchpoints = fc.array(
  fc.record({
    weight: fc.constantFrom(0, 1, 3, 6, 8, 10, 12),
    daysAgo: fc.double({ min: 0, max: 4_000, noNaN: true }),
  }),
  { minLength: 1, maxLength: 30 },
);

test("touchpoints recorded in any order, at once or one by one, give the same engagement", () => {
  const all = touchpoints.chain((given) =>
    fc.tuple(
      fc.constant(given),
      fc.shuffledSubarray(given, { minLength: given.length }),
      fc.array(fc.nat({ max: 30 * DAY_MS }), { minLength: given.length, maxLength: given.length }),
    ),
  );
  fc.assert(
    fc.property(all, ([given, shuffled, waits]) => {
      const dated = (list: typeof given) =>
        list.map(({ weight, daysAgo }) => ({ weight, occurredAt: NOW_MS - daysAgo * DAY_MS }));
      const fresh = newPerson("00000000-0000-4000-8000-000000000000", 0);
      const atOnce = withEngagement(fresh, dated(given), NOW_MS);
      let nowMs = NOW_MS;
      let oneByOne: PersonState = fresh;
      for (const [index, touchpoint] of dated(shuffled).entries()) {
        nowMs += waits[index] ?? 0;
        oneByOne = withEngagement(oneByOne, [touchpoint], nowMs);
      }
      const settled = (person: PersonState) => decay(person.engagement, person.engagementAt ?? 0, nowMs);
      expect(oneByOne.engagementTotal).toBe(atOnce.engagementTotal);
      expect(settled(oneByOne)).toBeCloseTo(settled(atOnce), 9);
    }),
    { numRuns: 1_000 },
  );
});

test("engagement never exceeds the sum of all weights, and decays to half in 30 days", () => {
  fc.assert(
    fc.property(touchpoints, (given) => {
      const dated = given.map(({ weight, daysAgo }) => ({ weight, occurredAt: NOW_MS - daysAgo * DAY_MS }));
      const person = withEngagement(newPerson("00000000-0000-4000-8000-000000000000", 0), dated, NOW_MS);
      expect(person.engagement).toBeLessThanOrEqual(person.engagementTotal * (1 + 1e-12));
      expect(decay(person.engagement, NOW_MS, NOW_MS + 30 * DAY_MS)).toBeCloseTo(person.engagement / 2, 12);
      // A clock that goes back makes nothing grow.
      expect(decay(person.engagement, NOW_MS, NOW_MS - DAY_MS)).toBe(person.engagement);
    }),
  );
});
