import type { Likeness } from "./text-distance.ts";
import { BOUNDS, MOST_BITS, PRIOR_BITS } from "./weights.ts";

/** Fields that go together are weighed together; `BOUNDS` says how much they may say. */
export type EvidenceGroup =
  | "name"
  | "email"
  | "birth"
  | "address"
  | "company"
  | "phone"
  | "mobile"
  | "identifier"
  | "other";

/** Finer findings than a likeness, for which there are sentences of their own. */
export type Finding =
  | Likeness
  | "reordered"
  | "relatives"
  | "partly"
  | "sameRole"
  | "colleagues"
  | "daySwapped"
  | "elsewhere";

/** What one field says about whether two records are of one person. */
export interface Evidence {
  readonly group: EvidenceGroup;
  /** As it is called in a sentence: "email address", "date of birth". */
  readonly field: string;
  readonly finding: Finding;
  /** Bits for (positive) or against (negative) one person. */
  readonly bits: number;
  /** The part of a name's bits that relatives have in common, which is the surname's. */
  readonly familyBits?: number;
  readonly left: string;
  readonly right: string;
}

/** The probability, from 0 to 1, that two records with this evidence are of one person. */
export function confidenceOf(evidence: readonly Evidence[]): number {
  const sums: Record<EvidenceGroup, number> = {
    name: 0,
    email: 0,
    birth: 0,
    address: 0,
    company: 0,
    phone: 0,
    mobile: 0,
    identifier: 0,
    other: 0,
  };
  let family = 0;
  for (const { group, bits, familyBits = 0 } of evidence) {
    sums[group] += bits;
    family += familyBits;
  }
  const bounded = (group: EvidenceGroup) => within(BOUNDS[group], sums[group]);
  const context = within(BOUNDS.context, bounded("address") + bounded("company") + bounded("phone"));
  // The given name's bits are a person's own; the surname's are shared by a household, and fill what the bound leaves.
  const ownName = within(BOUNDS.name, sums.name - family);
  const household = Math.min(context + Math.min(family, BOUNDS.name[1] - ownName), MOST_BITS.household);
  const reached = household + bounded("email") + bounded("mobile");
  const shared = ownName < 0 ? Math.min(reached, MOST_BITS.householdAndReach) : reached;
  const bits = PRIOR_BITS + ownName + shared + bounded("birth") + bounded("identifier") + bounded("other");
  return 1 / (1 + 2 ** -bits);
}

function within([least, most]: readonly [number, number], bits: number): number {
  return Math.min(Math.max(bits, least), most);
}
