import type { AttributeKind } from "./attribute-kinds.ts";
import { foldText, showText, wordsOf } from "./fold-text.ts";
import { type Word, wordFrom } from "./text-distance.ts";

/** Kinds that are compared key by key; the others are gathered from all keys first. */
export type KeyedKind = Exclude<AttributeKind, "email" | "birthDate" | "phone" | "mobile">;

export interface PreparedAttribute {
  readonly key: string;
  readonly kind: KeyedKind;
  /** Letters and digits without spaces, abbreviations written out. */
  readonly word: Word;
  /** The numbers in a longer text: house numbers tell neighbours apart. */
  readonly numbers: string;
  readonly shown: string;
}

/** Abbreviations that are written out make a text longer again. */
const MAX_LENGTH = 200;

const STREET_WORDS: Readonly<Record<string, string>> = Object.assign(Object.create(null), {
  st: "street",
  str: "street",
  rd: "road",
  ave: "avenue",
  av: "avenue",
  dr: "drive",
  ln: "lane",
  ct: "court",
  pl: "place",
  cr: "crescent",
  cres: "crescent",
  cct: "circuit",
  blvd: "boulevard",
  hwy: "highway",
  sq: "square",
  tce: "terrace",
  vlge: "village",
  apt: "apartment",
  mt: "mount",
});
const COMPANY_FORMS = new Set(
  "inc llc ltd limited corp corporation co company gmbh ag kg plc pty sa sas sarl srl bv ab oy".split(" "),
);

/** Undefined when the value has neither letter nor digit. */
export function prepareAttribute(key: string, kind: KeyedKind, text: string): PreparedAttribute | undefined {
  const words = wordsOf(foldText(text));
  const written = writeOut(kind, words).join("").slice(0, MAX_LENGTH);
  if (written === "") return undefined;
  const isNumber = kind === "houseNumber" || kind === "postcode" || kind === "age" || kind === "identifier";
  const numbers = isNumber ? "" : words.filter((word) => /[0-9]/.test(word)).join(" ");
  return { key, kind, word: wordFrom(written), numbers, shown: showText(text) };
}

function writeOut(kind: KeyedKind, words: readonly string[]): readonly string[] {
  if (kind === "street" || kind === "locality") return words.map((word) => STREET_WORDS[word] ?? word);
  if (kind !== "company") return words;
  const named = words.filter((word) => !COMPANY_FORMS.has(word));
  return named.length > 0 ? named : words;
}
