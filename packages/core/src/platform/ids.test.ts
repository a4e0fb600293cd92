import fc from "fast-check";
import { expect, test } from "vitest";
import { isUuid, randomIds, uuidV7 } from "./ids.ts";

const unixMs = fc.integer({ min: 0, max: 2 ** 48 - 1 });

test("an id carries version 7, the RFC's variant and the milliseconds it was made at", () => {
  fc.assert(
    fc.property(unixMs, (nowMs) => {
      const id = uuidV7(nowMs);
      expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
      expect(Number.parseInt(id.replaceAll("-", "").slice(0, 12), 16)).toBe(nowMs);
    }),
  );
});

test("ids of different milliseconds sort by time, as text", () => {
  fc.assert(
    fc.property(unixMs, unixMs, (one, other) => {
      fc.pre(one !== other);
      expect(uuidV7(one) < uuidV7(other)).toBe(one < other);
    }),
  );
});

test("ids of one millisecond differ", () => {
  expect(new Set(Array.from({ length: 10_000 }, () => uuidV7(1))).size).toBe(10_000);
});

test("the ids that verbs are given are made now", () => {
  const before = Date.now();
  const id = randomIds.uuid();
  const madeAt = Number.parseInt(id.replaceAll("-", "").slice(0, 12), 16);
  expect(madeAt).toBeGreaterThanOrEqual(before);
  expect(madeAt).toBeLessThanOrEqual(Date.now());
});

test("what is not a UUID is told apart", () => {
  expect(isUuid(randomIds.uuid().toUpperCase())).toBe(true);
  for (const text of ["", "x", `${randomIds.uuid()} `, `${randomIds.uuid()}\n`, randomIds.uuid().replaceAll("-", "")]) {
    expect(isUuid(text)).toBe(false);
  }
});
