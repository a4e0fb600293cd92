import { MAX_LOG_LINE_BYTES } from "@quayside/contracts";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { LineSplitter } from "./line-splitter.ts";

function split(bytes: Uint8Array, cuts: readonly number[] = []): string[] {
  const splitter = new LineSplitter();
  const lines: string[] = [];
  let from = 0;
  for (const cut of [...cuts.filter((at) => at <= bytes.length).sort((a, b) => a - b), bytes.length]) {
    for (const { text } of splitter.push(bytes.subarray(from, cut))) lines.push(text);
    from = cut;
  }
  for (const { text } of splitter.flush(true)) lines.push(text);
  return lines;
}

/** Bytes rich in what matters: line ends, NUL, cut and invalid characters, lines around the limit. */
const bytes = fc
  .array(
    fc.oneof(
      fc.constantFrom("\n", "\r\n", "\r", "\u0000", "é", "€", "😀", "plain").map((text) => Buffer.from(text)),
      fc.uint8Array({ maxLength: 6 }).map((part) => Buffer.from(part)),
      fc
        .integer({ min: MAX_LOG_LINE_BYTES - 6, max: MAX_LOG_LINE_BYTES + 6 })
        .map((length) => Buffer.alloc(length, "x")),
      fc.integer({ min: 5450, max: 5470 }).map((count) => Buffer.from("€".repeat(count))),
    ),
    { maxLength: 12 },
  )
  .map((parts) => Buffer.concat(parts));

describe("LineSplitter", () => {
  it("gives the same lines however the bytes are chunked", () => {
    const cuts = fc.array(fc.nat({ max: 70_000 }), { maxLength: 20 });
    fc.assert(
      fc.property(bytes, cuts, (input, at) => {
        expect(split(input, at)).toEqual(split(input));
      }),
      { numRuns: 500 },
    );
  });

  it("gives the same lines byte by byte", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (input) => {
        const everywhere = Array.from(input, (_, index) => index);
        expect(split(input, everywhere)).toEqual(split(input));
      }),
      { numRuns: 300 },
    );
  });

  it("never gives a line that cannot be stored", () => {
    fc.assert(
      fc.property(bytes, (input) => {
        for (const line of split(input)) {
          expect(Buffer.byteLength(line)).toBeLessThanOrEqual(MAX_LOG_LINE_BYTES);
          expect(line.includes("\u0000") || line.includes("\n")).toBe(false);
          expect(line.isWellFormed()).toBe(true);
        }
      }),
      { numRuns: 300 },
    );
  });

  it("resumes from any line's end without losing or doubling one", () => {
    fc.assert(
      fc.property(
        fc.array(
          fc.string({ maxLength: 20 }).map((text) => text.replaceAll("\u0000", ".").replace(/[\r\n]/g, ".")),
          { minLength: 1 },
        ),
        (texts) => {
          const input = Buffer.from(texts.map((text) => `${text}\n`).join(""));
          const ends = new LineSplitter().push(input).map(({ end }) => end);
          for (const [index, end] of ends.entries()) {
            const rest = new LineSplitter(end).push(input.subarray(end)).map(({ text }) => text);
            expect(rest).toEqual(texts.slice(index + 1));
          }
        },
      ),
    );
  });

  it("keeps a line of exactly the limit and cuts a longer one at a character", () => {
    const exact = "x".repeat(MAX_LOG_LINE_BYTES);
    expect(split(Buffer.from(`${exact}\r\n`))).toEqual([exact]);
    const [cut = ""] = split(Buffer.from(`${"€".repeat(6000)}\nnext\n`));
    expect(cut).toBe(`${"€".repeat(5460)}…`);
    expect(split(Buffer.from(`${exact}y\nnext\n`))).toEqual([`${exact.slice(0, -3)}…`, "next"]);
  });

  it("replaces NUL and invalid bytes", () => {
    expect(split(Buffer.from([0x61, 0, 0x62, 0xff, 0x0a]))).toEqual(["a\ufffdb\ufffd"]);
  });

  it("hands out a partial line once, without half a character and without an empty line after it", () => {
    const splitter = new LineSplitter();
    splitter.push(Buffer.from("wait 😀").subarray(0, 7));
    expect(splitter.flush(false)).toEqual([{ text: "wait ", end: 5 }]);
    expect(splitter.consumed).toBe(5);
    expect(splitter.push(Buffer.from("😀").subarray(2))).toEqual([]);
    expect(splitter.flush(false)).toEqual([{ text: "😀", end: 9 }]);
    expect(splitter.push(Buffer.from("\nnext\n"))).toEqual([{ text: "next", end: 15 }]);
  });
});
