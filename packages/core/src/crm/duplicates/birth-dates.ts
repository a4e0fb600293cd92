import type { ValueShares } from "./count-shares.ts";
import type { Evidence } from "./evidence.ts";
import { foldText, showText, textOf } from "./fold-text.ts";
import { editsWithin, type Likeness, type Word, wordFrom } from "./text-distance.ts";
import { bitsOf, RATES } from "./weights.ts";

export interface BirthDate {
  /** Year, month and day as eight digits, unless the value has a slip in it. */
  readonly digits: Word;
  /** With day and month swapped. */
  readonly swapped: string;
  /** Written as 3/4/1975, which is April in some countries and March in others. */
  readonly isAmbiguous: boolean;
  readonly shown: string;
}

/** Dates that forms and imports put in for want of a better one. */
const PLACEHOLDERS = new Set([
  "00000000",
  "00010101",
  "11111111",
  "19000101",
  "19010101",
  "19700101",
  "20000101",
  "99999999",
]);

/** Reads 1975-03-12, 19750312, 12/3/1975 and times of ISO 8601; undefined for what has too few or too many digits. */
export function prepareBirthDate(value: unknown): BirthDate | undefined {
  const raw = textOf(value);
  const runs =
    foldText(raw)
      .split("t")[0]
      ?.match(/[0-9]+/g) ?? [];
  const [first = "", second = "", third = ""] = runs;
  let digits = runs.join("");
  let isAmbiguous = false;
  if (runs.length >= 3 && first.length === 4) digits = `${first}${second.padStart(2, "0")}${third.padStart(2, "0")}`;
  if (runs.length === 3 && third.length === 4) {
    const monthFirst = Number(second) > 12;
    isAmbiguous = Number(first) <= 12 && Number(second) <= 12;
    const [month, day] = monthFirst ? [first, second] : [second, first];
    digits = `${third}${month.padStart(2, "0")}${day.padStart(2, "0")}`;
  }
  if (digits.length < 6 || digits.length > 9) return undefined;
  const swapped = digits.length === 8 ? `${digits.slice(0, 4)}${digits.slice(6)}${digits.slice(4, 6)}` : "";
  return { digits: wordFrom(digits), swapped, isAmbiguous, shown: showText(raw) };
}

export function compareBirthDates(a: BirthDate, b: BirthDate, shares?: ValueShares): Evidence | undefined {
  const finding = findingOf(a, b);
  if (finding === undefined) return undefined;
  const rates = RATES.birthDate;
  const bits =
    finding === "same"
      ? bitsOf(rates.same, shares?.("birth_date", a.digits.text))
      : bitsOf(finding === "daySwapped" ? rates.close : rates[finding]);
  return { group: "birth", field: "date of birth", finding, bits, left: a.shown, right: b.shown };
}

function findingOf(a: BirthDate, b: BirthDate): Likeness | "daySwapped" | undefined {
  const [left, right] = [a.digits.text, b.digits.text];
  if (PLACEHOLDERS.has(left) || PLACEHOLDERS.has(right)) return undefined;
  if (left === right) return "same";
  if (a.swapped === right) return a.isAmbiguous || b.isAmbiguous ? "same" : "daySwapped";
  const edits = editsWithin(a.digits, b.digits, 2);
  if (edits === 1) return "close";
  return edits === 2 || partsInCommon(left, right) === 2 ? "similar" : "far";
}

/** How many of year, month and day are the same. */
function partsInCommon(a: string, b: string): number {
  if (a.length !== 8 || b.length !== 8) return 0;
  const year = a.startsWith(b.slice(0, 4)) ? 1 : 0;
  const month = a.slice(4, 6) === b.slice(4, 6) ? 1 : 0;
  return year + month + (a.slice(6) === b.slice(6) ? 1 : 0);
}
