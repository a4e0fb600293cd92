import { expect, test } from "vitest";
import { parseRetryAfter } from "./retry-after.ts";

const NOW = new Date("2026-03-01T12:00:00Z");
const DAY_MS = 86_400_000;

test.each([
  ["0", 0],
  ["120", 120_000],
  [" 5 ", 5_000],
  ["86401", DAY_MS],
  ["9".repeat(400), DAY_MS],
  ["Sun, 01 Mar 2026 12:00:30 GMT", 30_000],
  ["Sun, 01 Mar 2026 11:00:00 GMT", 0],
  ["Fri, 01 Mar 2030 12:00:00 GMT", DAY_MS],
])("%j asks to wait %d ms", (value, waitMs) => {
  expect(parseRetryAfter(value, NOW)).toBe(waitMs);
});

test.each([undefined, "", "-1", "1.5", "1e3", "soon", "2026-03-01", "Sun, 99 Xyz 2026 12:00:30 GMT"])(
  "%j says nothing",
  (value) => {
    expect(parseRetryAfter(value, NOW)).toBeNull();
  },
);
