import { randomBytes } from "node:crypto";
import fc from "fast-check";
import { expect, test } from "vitest";
import { createSealer } from "./sealer.ts";

const OLD_KEY = Buffer.alloc(32, 1);
const NEW_KEY = Buffer.alloc(32, 2);
const sealer = createSealer([OLD_KEY]);
const bytes = fc.uint8Array({ maxLength: 200 }).map((value) => Buffer.from(value));

/** Offsets of the envelope's regions; the ciphertext goes on to the end. */
const REGIONS = { version: [0, 1], keyId: [1, 5], nonce: [5, 17], tag: [17, 33], ciphertext: [33, 43] } as const;

test("a sealed value opens to the same bytes for the same purpose", () => {
  fc.assert(
    fc.property(bytes, fc.string(), (plain, purpose) => {
      expect(sealer.open(purpose, sealer.seal(purpose, plain)).equals(plain)).toBe(true);
    }),
  );
});

test("text is sealed as UTF-8 and does not show in the envelope", () => {
  const sealed = sealer.seal("note", "geheim: schlüssel");
  expect(sealer.open("note", sealed).toString()).toBe("geheim: schlüssel");
  expect(sealed.includes("geheim")).toBe(false);
});

test("the same value sealed twice gives two envelopes", () => {
  expect(sealer.seal("p", "same").equals(sealer.seal("p", "same"))).toBe(false);
});

test.each(Object.entries(REGIONS))("a flipped bit in the %s is found out", (_region, [from, to]) => {
  fc.assert(
    fc.property(fc.integer({ min: from, max: to - 1 }), fc.integer({ min: 0, max: 7 }), (offset, bit) => {
      const sealed = sealer.seal("purpose", randomBytes(10));
      sealed[offset] = (sealed[offset] ?? 0) ^ (1 << bit);
      expect(() => sealer.open("purpose", sealed)).toThrow();
    }),
  );
});

test("a value that was cut short or made longer is refused", () => {
  const sealed = sealer.seal("purpose", randomBytes(10));
  for (let length = 0; length < sealed.length; length += 1) {
    expect(() => sealer.open("purpose", sealed.subarray(0, length))).toThrow();
  }
  expect(() => sealer.open("purpose", Buffer.concat([sealed, Buffer.of(0)]))).toThrow();
});

test("a value cannot be moved to another purpose", () => {
  fc.assert(
    fc.property(bytes, fc.string(), fc.string(), (plain, here, there) => {
      fc.pre(here !== there);
      expect(() => sealer.open(there, sealer.seal(here, plain))).toThrow();
    }),
  );
});

test("after a rotation old values still open and new ones are sealed with the new key", () => {
  const rotated = createSealer([NEW_KEY, OLD_KEY]);
  expect(rotated.open("p", sealer.seal("p", "old")).toString()).toBe("old");
  expect(createSealer([NEW_KEY]).open("p", rotated.seal("p", "new")).toString()).toBe("new");
});

test("a value of a key that is not at hand is refused with the key's id and nothing of the value", () => {
  const sealed = sealer.seal("p", "private");
  const id = sealed.subarray(1, 5).toString("hex");
  expect(() => createSealer([NEW_KEY]).open("p", sealed)).toThrow(new RegExp(`key ${id}, which is not configured`));
});

test("a sealer without a key cannot be made", () => {
  expect(() => createSealer([])).toThrow(/needs a key/);
});
