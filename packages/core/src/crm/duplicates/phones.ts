import type { ValueShares } from "./count-shares.ts";
import type { Evidence } from "./evidence.ts";
import { showText, textOf } from "./fold-text.ts";
import { editsWithin, likeness, type Word, wordFrom } from "./text-distance.ts";
import { bitsOf, RATES } from "./weights.ts";

export interface Phone {
  readonly number: Word;
  readonly isMobile: boolean;
  readonly shown: string;
}

/** Country codes and leading zeros are written or not; the last digits stay. */
const COMPARED_DIGITS = 9;
const FEWEST_DIGITS = 6;

export function preparePhone(value: unknown, isMobile: boolean): Phone | undefined {
  const raw = textOf(value);
  const digits = raw.replace(/[^0-9]/g, "").slice(-COMPARED_DIGITS);
  // A lone digit over and over stands for "none".
  if (digits.length < FEWEST_DIGITS || digits === digits.charAt(0).repeat(digits.length)) return undefined;
  return { number: wordFrom(digits), isMobile, shown: showText(raw) };
}

/** The pair of numbers that says most for one person, whichever attributes they stand in. */
export function comparePhones(a: readonly Phone[], b: readonly Phone[], shares?: ValueShares): Evidence | undefined {
  let best: Evidence | undefined;
  for (const left of a) {
    for (const right of b) {
      const evidence = comparePhone(left, right, shares);
      if (best === undefined || evidence.bits > best.bits) best = evidence;
    }
  }
  return best;
}

function comparePhone(a: Phone, b: Phone, shares?: ValueShares): Evidence {
  const isMobile = a.isMobile && b.isMobile;
  const finding = findingOf(a.number, b.number);
  const share = finding === "same" ? shares?.("phone", a.number.text) : undefined;
  return {
    group: isMobile ? "mobile" : "phone",
    field: "phone number",
    finding,
    bits: bitsOf(RATES[isMobile ? "mobile" : "phone"][finding], share),
    left: a.shown,
    right: b.shown,
  };
}

function findingOf(a: Word, b: Word): "same" | "close" | "similar" | "far" {
  if (a.text === b.text) return "same";
  const [short, long] = a.text.length < b.text.length ? [a, b] : [b, a];
  // Without the area code.
  if (long.text.endsWith(short.text)) return "same";
  const edits = editsWithin(a, b, 2);
  if (edits === 1) return "close";
  return likeness(a, b) === "far" ? "far" : "similar";
}
