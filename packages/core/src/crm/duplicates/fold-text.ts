/** Values come from imports and forms, so only their beginning is compared. */
const MAX_VALUE_LENGTH = 200;
const MAX_SHOWN_LENGTH = 60;

/** Letters that Unicode does not take apart into a base letter and a mark. */
const UNDECOMPOSED: Readonly<Record<string, string>> = {
  ß: "ss",
  æ: "ae",
  œ: "oe",
  ø: "o",
  ł: "l",
  đ: "d",
  ð: "d",
  þ: "th",
  ı: "i",
};

/** Lower case without accents, cut to the length that is compared. */
export function foldText(text: string): string {
  const lower = text.slice(0, MAX_VALUE_LENGTH).toLowerCase();
  if (isAscii(lower)) return lower;
  return lower
    .normalize("NFKD")
    .replace(/[\u0300-\u036f]/g, "")
    .replace(/[ßæœøłđðþı]/g, (letter) => UNDECOMPOSED[letter] ?? letter)
    .slice(0, MAX_VALUE_LENGTH);
}

/** The words of folded text. An apostrophe joins ("o'brien" is one word), everything else separates. */
export function wordsOf(folded: string): string[] {
  return folded.replace(/['’`´]/g, "").match(/[\p{L}\p{N}\p{M}]+/gu) ?? [];
}

/** What of a stored value can be compared: text, numbers and truth values. Anything else counts as missing. */
export function textOf(value: unknown): string {
  if (typeof value === "string") return value.slice(0, MAX_VALUE_LENGTH).trim();
  if (typeof value === "number") return Number.isFinite(value) ? String(value) : "";
  if (typeof value === "bigint" || typeof value === "boolean") return String(value).slice(0, MAX_VALUE_LENGTH);
  return "";
}

/** A value as it may appear in a sentence: one line, no invisible characters, short. */
export function showText(text: string): string {
  const clean = text
    .slice(0, MAX_VALUE_LENGTH)
    .replace(/[\p{C}\p{Z}]+/gu, " ")
    .trim();
  if (clean.length <= MAX_SHOWN_LENGTH) return clean;
  return `${clean
    .slice(0, MAX_SHOWN_LENGTH - 1)
    .replace(/[\uD800-\uDBFF]$/, "")
    .trimEnd()}…`;
}

function isAscii(text: string): boolean {
  for (let i = 0; i < text.length; i += 1) if (text.charCodeAt(i) > 127) return false;
  return true;
}
