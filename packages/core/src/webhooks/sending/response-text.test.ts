import fc from "fast-check";
import { expect, test } from "vitest";
import { harmlessText, responseText } from "./response-text.ts";

test("text stays text", () => {
  expect(responseText(Buffer.from("Zoë ✓\n\tok"), false)).toBe("Zoë ✓\n\tok");
});

test("a character that the cut went through is left out, one that the receiver broke is shown", () => {
  const broken = Buffer.from("Zoë").subarray(0, 3);
  expect(responseText(broken, true)).toBe("Zo");
  expect(responseText(broken, false)).toBe("Zo\uFFFD");
});

test.each([
  ["a line end of Windows", "a\r\nb", "a\nb"],
  ["zero", "a\0b", "a\uFFFDb"],
  ["an escape sequence", "\x1b[2Jb", "\uFFFD[2Jb"],
  ["a carriage return", "good\rbad", "good\uFFFDbad"],
  ["C1 controls", "\x9b31m", "\uFFFD31m"],
  ["a reordering of what follows", "\u202Egnp.exe", "\uFFFDgnp.exe"],
])("%s is made harmless", (_what, text, shown) => {
  expect(harmlessText(text)).toBe(shown);
});

test("any bytes become well-formed text without control characters, no longer than the bytes", () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 500 }), fc.boolean(), (bytes, truncated) => {
      const text = responseText(Buffer.from(bytes), truncated);
      expect(text.isWellFormed()).toBe(true);
      expect(text).not.toMatch(/(?![\t\n])\p{Cc}/u);
      expect(text.length).toBeLessThanOrEqual(bytes.length);
    }),
  );
});
