import fc from "fast-check";
import { expect, test } from "vitest";
import {
  generateApiKey,
  generateRoleToken,
  hashSecret,
  isWellFormedApiKey,
  isWellFormedRoleToken,
  secretsEqual,
} from "./secret-formats.ts";

const BASE62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const environment = fc.constantFrom("live" as const, "test" as const, "dev" as const);

test.each(["live", "test", "dev"] as const)(
  "a %s key is qs_<environment>_ and 43 + 6 base62 characters, and shows its first six",
  (name) => {
    const { secret, prefix } = generateApiKey(name);
    expect(secret).toMatch(new RegExp(`^qs_${name}_[0-9A-Za-z]{43}[0-9A-Za-z]{6}$`));
    expect(prefix).toBe(secret.slice(0, `qs_${name}_`.length + 6));
    expect(isWellFormedApiKey(secret)).toBe(true);
  },
);

test("every key with one character changed is refused without asking anybody", () => {
  const printable = fc.integer({ min: 0x20, max: 0x7e }).map((code) => String.fromCharCode(code));
  fc.assert(
    fc.property(environment, fc.nat(), printable, (name, where, character) => {
      const { secret } = generateApiKey(name);
      const at = where % secret.length;
      fc.pre(secret[at] !== character);
      expect(isWellFormedApiKey(secret.slice(0, at) + character + secret.slice(at + 1))).toBe(false);
    }),
    { numRuns: 3_000 },
  );
});

test("every character of one key, replaced by every other of the alphabet, is refused", () => {
  const { secret } = generateApiKey("test");
  for (let at = 0; at < secret.length; at += 1) {
    for (const character of BASE62) {
      if (character === secret[at]) continue;
      expect(isWellFormedApiKey(secret.slice(0, at) + character + secret.slice(at + 1))).toBe(false);
    }
  }
});

test("a key that lost, gained or swapped characters is refused", () => {
  const { secret } = generateApiKey("dev");
  const { secret: other } = generateApiKey("dev");
  for (const wrong of [
    secret.slice(1),
    secret.slice(0, -1),
    `${secret}0`,
    ` ${secret}`,
    `${secret}\n`,
    secret.toUpperCase(),
    secret.slice(0, -6) + other.slice(-6),
    secret.replace("qs_dev_", "qs_test_"),
    "",
  ]) {
    expect(isWellFormedApiKey(wrong)).toBe(false);
  }
});

test("key bodies use the whole alphabet evenly", () => {
  const keys = 2_000;
  const counts = new Map<string, number>();
  for (let i = 0; i < keys; i += 1) {
    for (const character of generateApiKey("test").secret.slice("qs_test_".length, -6)) {
      counts.set(character, (counts.get(character) ?? 0) + 1);
    }
  }
  expect([...counts.keys()].sort().join("")).toBe([...BASE62].sort().join(""));
  const expected = (keys * 43) / 62;
  const chiSquare = [...counts.values()].reduce((sum, count) => sum + (count - expected) ** 2 / expected, 0);
  // 61 degrees of freedom; a fair generator exceeds this once in some ten million runs.
  expect(chiSquare).toBeLessThan(140);
});

test("keys do not repeat", () => {
  expect(new Set(Array.from({ length: 5_000 }, () => generateApiKey("live").secret)).size).toBe(5_000);
});

test("a role token is qst_ and 49 base62 characters with a checksum, and no API key", () => {
  const token = generateRoleToken();
  expect(token).toMatch(/^qst_[0-9A-Za-z]{49}$/);
  expect(isWellFormedRoleToken(token)).toBe(true);
  expect(isWellFormedApiKey(token)).toBe(false);
  const last = token.at(-1) === "0" ? "1" : "0";
  expect(isWellFormedRoleToken(token.slice(0, -1) + last)).toBe(false);
});

test("what is kept of a secret is its SHA-256", () => {
  expect(hashSecret("abc").toString("hex")).toBe("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
});

test("secrets are equal only to themselves, whatever their lengths", () => {
  fc.assert(
    fc.property(fc.string(), fc.string(), (one, other) => {
      expect(secretsEqual(one, other)).toBe(one === other);
      expect(secretsEqual(one, one)).toBe(true);
    }),
  );
});
