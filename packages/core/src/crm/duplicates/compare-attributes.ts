import type { ValueShares } from "./count-shares.ts";
import type { Evidence, EvidenceGroup } from "./evidence.ts";
import type { KeyedKind, PreparedAttribute } from "./prepare-attribute.ts";
import { type Likeness, likeness } from "./text-distance.ts";
import { bitsOf, RATES } from "./weights.ts";

const GROUPS: Readonly<Record<KeyedKind, EvidenceGroup>> = {
  age: "birth",
  identifier: "identifier",
  street: "address",
  houseNumber: "address",
  locality: "address",
  postcode: "address",
  region: "address",
  country: "address",
  company: "company",
  domain: "company",
  gender: "other",
  other: "other",
};

/** Compares the attributes that both have. Both lists are in the order of their keys. */
export function compareAttributes(
  a: readonly PreparedAttribute[],
  b: readonly PreparedAttribute[],
  shares?: ValueShares,
): Evidence[] {
  const evidence: Evidence[] = [];
  let i = 0;
  let j = 0;
  while (i < a.length && j < b.length) {
    const [left, right] = [a[i], b[j]];
    if (left === undefined || right === undefined) break;
    if (left.key === right.key) {
      const found = compareAttribute(left, right, a, b, shares);
      if (found !== undefined) evidence.push(found);
    }
    if (left.key <= right.key) i += 1;
    if (right.key <= left.key) j += 1;
  }
  return evidence;
}

function compareAttribute(
  a: PreparedAttribute,
  b: PreparedAttribute,
  allOfA: readonly PreparedAttribute[],
  allOfB: readonly PreparedAttribute[],
  shares?: ValueShares,
): Evidence | undefined {
  // An age that is no number is text.
  const kind = a.kind === b.kind ? a.kind : "other";
  const evidence = (finding: Evidence["finding"], bits: number): Evidence => ({
    group: GROUPS[kind],
    field: a.key,
    finding,
    bits,
    left: a.shown,
    right: b.shown,
  });
  const alike = likenessOf(kind, a, b);
  if (alike === "same") return evidence("same", bitsOf(RATES[kind].same, shares?.(a.key, a.word.text)));
  if (alike === "far") {
    // Lines of an address get into each other's place.
    if (isPlace(kind) && (standsElsewhere(a, allOfA, allOfB) || standsElsewhere(b, allOfB, allOfA))) {
      return evidence("elsewhere", bitsOf(RATES.elsewhere));
    }
    return evidence("far", bitsOf(RATES[kind].far));
  }
  // "12 Main Street" and "14 Main Street" are neither one address nor far from it.
  if (a.numbers !== b.numbers && a.numbers !== "" && b.numbers !== "") return undefined;
  return evidence(alike, bitsOf(RATES[kind][alike]));
}

function likenessOf(kind: KeyedKind, a: PreparedAttribute, b: PreparedAttribute): Likeness {
  if (kind === "age") return likenessOfAges(Number(a.word.text), Number(b.word.text));
  const alike = likeness(a.word, b.word);
  if (alike !== "far") return alike;
  const [short, long] =
    a.word.text.length < b.word.text.length ? [a.word.text, b.word.text] : [b.word.text, a.word.text];
  if (kind === "postcode") return short.length >= 5 && long.startsWith(short) ? "close" : "far";
  if (kind === "houseNumber") return long.startsWith(short) || long.endsWith(short) ? "similar" : "far";
  return short.length >= 5 && (long.startsWith(short) || long.endsWith(short)) ? "similar" : "far";
}

function likenessOfAges(a: number, b: number): Likeness {
  const apart = Math.abs(a - b);
  if (apart === 0) return "same";
  return apart <= 1 ? "close" : apart <= 3 ? "similar" : "far";
}

function isPlace(kind: KeyedKind): boolean {
  return kind === "street" || kind === "locality";
}

/** Looks at lines that both have, since a line that one lacks says nothing. */
function standsElsewhere(
  attribute: PreparedAttribute,
  own: readonly PreparedAttribute[],
  others: readonly PreparedAttribute[],
): boolean {
  return others.some(
    ({ kind, key, word }) =>
      word.text === attribute.word.text &&
      isPlace(kind) &&
      key !== attribute.key &&
      own.some((mine) => mine.key === key),
  );
}
