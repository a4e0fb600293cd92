import type { ValueShares } from "./count-shares.ts";
import type { Evidence, Finding } from "./evidence.ts";
import type { NamePart, PreparedName } from "./prepare-name.ts";
import { likeness } from "./text-distance.ts";
import { bitsOf, NAME_BITS, RATES } from "./weights.ts";

type Slot = "givenName" | "middleName" | "surname";
type Match = "same" | "nickname" | "close" | "similar" | "initial";

interface Pair {
  readonly i: number;
  readonly j: number;
  readonly match: Match;
  readonly rank: number;
}

const RANKS: Readonly<Record<Match, number>> = { same: 50, nickname: 40, close: 30, similar: 20, initial: 10 };

/** Compares names part by part, in whatever order the parts stand. A part that one name lacks says nothing. */
export function compareNames(a: PreparedName, b: PreparedName, shares?: ValueShares): Evidence {
  const evidence = (finding: Finding, bits: number, familyBits: number): Evidence => ({
    ...{ group: "name" as const, field: "name", finding, bits, familyBits },
    left: a.shown,
    right: b.shown,
  });
  if (a.whole.text === b.whole.text) {
    const { bits, familyBits } = bitsOfSame(a.parts.length > b.parts.length ? a : b, shares);
    return evidence("same", bits, familyBits);
  }
  const pairs = alignParts(a.parts, b.parts);
  const missed = slotsMissed(a.parts, b.parts, pairs);
  if (missed.length > 0 && isWrittenDifferently(a, b)) {
    return evidence("close", NAME_BITS.writtenDifferently, NAME_BITS.writtenDifferentlyFamily);
  }
  const agreed = weighPairs(a, b, pairs, shares);
  const against = missed.reduce((sum, slot) => sum + bitsOf(RATES[slot].far), 0);
  const areRelatives = missed.includes("givenName") && agreed.familyBits > 0;
  const finding = areRelatives ? "relatives" : findingOf(pairs, missed, agreed.reordered);
  return evidence(finding, agreed.bits + against, agreed.familyBits);
}

function bitsOfSame({ parts }: PreparedName, shares?: ValueShares): { bits: number; familyBits: number } {
  let bits = 0;
  let familyBits = 0;
  for (const [index, { text }] of parts.entries()) {
    const slot =
      parts.length === 1 || index === 0 ? "givenName" : index === parts.length - 1 ? "surname" : "middleName";
    const own = bitsOf(RATES[slot].same, shareOf(slot, text, shares));
    bits += own;
    if (slot === "surname") familyBits += own;
  }
  return { bits, familyBits };
}

function shareOf(slot: Slot, text: string, shares: ValueShares | undefined): number | undefined {
  if (slot === "middleName") return undefined;
  return shares?.(slot === "surname" ? "surname" : "given_name", text);
}

/** Best matches first; each part is used once. */
function alignParts(a: readonly NamePart[], b: readonly NamePart[]): Pair[] {
  const candidates: Pair[] = [];
  for (const [i, left] of a.entries()) {
    for (const [j, right] of b.entries()) {
      const areSurnames = i > 0 && j > 0 && i === a.length - 1 && j === b.length - 1;
      const match = matchParts(left, right, areSurnames);
      if (match === undefined) continue;
      // A middle initial must not pass for the given name; only a name that begins with its surname ends with one.
      if (match === "initial" && i !== j && i !== a.length - 1 && j !== b.length - 1) continue;
      // Among equals the parts that stand at the same end belong together.
      const place = (i === a.length - 1) === (j === b.length - 1) ? 2 : 0;
      candidates.push({ i, j, match, rank: RANKS[match] + place + (i === j ? 1 : 0) });
    }
  }
  if (candidates.length > 1)
    candidates.sort((one, other) => other.rank - one.rank || one.i - other.i || one.j - other.j);
  const chosen: Pair[] = [];
  for (const candidate of candidates) {
    if (chosen.every(({ i, j }) => i !== candidate.i && j !== candidate.j)) chosen.push(candidate);
  }
  return chosen;
}

function matchParts(a: NamePart, b: NamePart, areSurnames: boolean): Match | undefined {
  if (a.text === b.text) return "same";
  const [short, long] = a.text.length <= b.text.length ? [a.text, b.text] : [b.text, a.text];
  if (short.length === 1) return long.startsWith(short) ? "initial" : undefined;
  if (a.nicknames.length > 0 && a.nicknames.some((line) => b.nicknames.includes(line))) return "nickname";
  const alike = likeness(a, b);
  // Jon and Ron are two names, one letter apart.
  if (alike !== "far" && long.length <= 5 && short[0] !== long[0]) return undefined;
  if (alike === "close") return long.length <= 4 && !isTransposed(short, long) ? "similar" : "close";
  if (alike === "similar") return "similar";
  // Alex may be any Alex…, but Clark is no short form of Clarkson.
  return !areSurnames && short.length >= 3 && long.startsWith(short) ? "similar" : undefined;
}

function isTransposed(a: string, b: string): boolean {
  return a.length === b.length && [...a].sort().join("") === [...b].sort().join("");
}

/** Which parts are in both names and still found no counterpart. */
function slotsMissed(a: readonly NamePart[], b: readonly NamePart[], pairs: readonly Pair[]): Slot[] {
  let count = Math.min(a.length, b.length) - pairs.length;
  const missed: Slot[] = [];
  if (count > 0 && !pairs.some(({ i, j }) => i === a.length - 1 || j === b.length - 1)) {
    missed.push("surname");
    count -= 1;
  }
  if (count > 0 && !pairs.some(({ i, j }) => i === 0 && j === 0)) {
    missed.push("givenName");
    count -= 1;
  }
  if (count > 0) missed.push("middleName");
  return missed;
}

/** "Marianne" and "Mary Anne", "van den Berg" and "vandenberg", or one letter that went to the other word. */
function isWrittenDifferently(a: PreparedName, b: PreparedName): boolean {
  return Math.min(a.whole.text.length, b.whole.text.length) >= 8 && likeness(a.whole, b.whole) === "close";
}

function weighPairs(a: PreparedName, b: PreparedName, pairs: readonly Pair[], shares?: ValueShares) {
  let bits = 0;
  let familyBits = 0;
  let reordered = false;
  for (const { i, j, match } of pairs) {
    const slot = slotOf(i, a.parts.length, j, b.parts.length);
    if (a.parts.length > 1 && b.parts.length > 1 && (i === a.parts.length - 1) !== (j === b.parts.length - 1)) {
      reordered = true;
    }
    const own = bitsOfMatch(slot, match, a.parts[i]?.text ?? "", shares);
    bits += own;
    if (slot === "surname") familyBits += own;
  }
  return { bits: reordered ? bits + NAME_BITS.reordered : bits, familyBits, reordered };
}

function slotOf(i: number, lengthA: number, j: number, lengthB: number): Slot {
  const lastA = i === lengthA - 1;
  const lastB = j === lengthB - 1;
  if (lengthA === 1 && lengthB === 1) return "givenName";
  if (lastA && lastB) return "surname";
  // The order is swapped: one of the parts counts as the surname, whichever record comes first.
  if (lastA && lengthA > 1 && lengthB > 1) return "surname";
  return i === 0 || j === 0 ? "givenName" : "middleName";
}

function bitsOfMatch(slot: Slot, match: Match, text: string, shares?: ValueShares): number {
  if (match === "same") return bitsOf(RATES[slot].same, shareOf(slot, text, shares));
  if (match === "nickname") return bitsOf(RATES.nickname);
  if (match === "initial") return bitsOf(RATES.initial);
  return bitsOf(RATES[slot][match]);
}

function findingOf(pairs: readonly Pair[], missed: readonly Slot[], reordered: boolean): Finding {
  if (pairs.length === 0) return "far";
  if (missed.length > 0) return missed.length >= pairs.length ? "partly" : "close";
  return reordered && pairs.every(({ match }) => match === "same") ? "reordered" : "close";
}
