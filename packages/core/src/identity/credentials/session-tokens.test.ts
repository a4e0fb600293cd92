import { randomUUID } from "node:crypto";
import fc from "fast-check";
import { expect, test } from "vitest";
import { readSession, signSession } from "./session-tokens.ts";

const SECRET = "a secret of this installation";

test("a session token gives back the id that was signed", () => {
  fc.assert(
    fc.property(fc.uuid(), (id) => {
      expect(readSession(signSession(id, SECRET), SECRET)).toBe(id);
    }),
  );
});

test("every session token with one character changed is refused", () => {
  const alphabet = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-_.";
  fc.assert(
    fc.property(fc.uuid(), fc.nat(), fc.constantFrom(...alphabet), (id, where, character) => {
      const token = signSession(id, SECRET);
      const at = where % token.length;
      fc.pre(token[at] !== character);
      expect(readSession(token.slice(0, at) + character + token.slice(at + 1), SECRET)).toBeNull();
    }),
    { numRuns: 3_000 },
  );
});

test("a token that another installation signed is refused", () => {
  expect(readSession(signSession(randomUUID(), "another secret"), SECRET)).toBeNull();
});

test("a signature does not fit another session", () => {
  const [mine, theirs] = [signSession(randomUUID(), SECRET), signSession(randomUUID(), SECRET)];
  expect(readSession(`${mine.split(".")[0]}.${theirs.split(".")[1]}`, SECRET)).toBeNull();
});

test("what is cut short, padded or empty is refused", () => {
  const token = signSession(randomUUID(), SECRET);
  for (const wrong of [
    "",
    "qss_",
    token.slice(0, -1),
    `${token}=`,
    `${token}\n`,
    ` ${token}`,
    token.split(".")[0] ?? "",
  ]) {
    expect(readSession(wrong, SECRET)).toBeNull();
  }
});
