import { compareBirthDates } from "./birth-dates.ts";
import { compareAttributes } from "./compare-attributes.ts";
import { compareEmails } from "./compare-emails.ts";
import { compareNames } from "./compare-names.ts";
import type { ValueShares } from "./count-shares.ts";
import { describeEvidence } from "./describe-evidence.ts";
import { confidenceOf, type Evidence } from "./evidence.ts";
import { comparePhones } from "./phones.ts";
import { type ComparablePerson, type PreparedPerson, preparePerson } from "./prepare-person.ts";
import { bitsOf, RATES } from "./weights.ts";

export interface Comparison {
  /** The probability, from 0 to 1, that both records are of one person. */
  confidence: number;
  /** Sentences about what speaks for it and what against, the weightiest first. */
  reasons: string[];
}

/**
 * Compares two records after Fellegi and Sunter: each field that both have adds to the odds by how much more often it
 * agrees so in duplicates than in strangers. A field that one of them lacks adds nothing. `shares` makes rare values
 * weigh more than common ones.
 */
export function comparePeople(a: ComparablePerson, b: ComparablePerson, shares?: ValueShares): Comparison {
  return comparePrepared(preparePerson(a), preparePerson(b), shares);
}

export function comparePrepared(a: PreparedPerson, b: PreparedPerson, shares?: ValueShares): Comparison {
  const evidence = gatherEvidence(a, b, shares);
  return { confidence: confidenceOf(evidence), reasons: describeEvidence(evidence) };
}

/** The confidence alone, which is quicker. */
export function scorePrepared(a: PreparedPerson, b: PreparedPerson, shares?: ValueShares): number {
  return confidenceOf(gatherEvidence(a, b, shares));
}

function gatherEvidence(one: PreparedPerson, other: PreparedPerson, shares?: ValueShares): Evidence[] {
  // Always in the same order, so that a comparison does not depend on which record comes first.
  const [a, b] = one.orderKey <= other.orderKey ? [one, other] : [other, one];
  const evidence = compareAttributes(a.attributes, b.attributes, shares);
  const add = (found: Evidence | undefined) => {
    if (found !== undefined) evidence.push(found);
  };
  if (a.name !== undefined && b.name !== undefined) add(compareNames(a.name, b.name, shares));
  add(compareEmails(a.emails, b.emails, shares));
  add(comparePhones(a.phones, b.phones, shares));
  if (a.birthDate !== undefined && b.birthDate !== undefined) add(compareBirthDates(a.birthDate, b.birthDate, shares));
  add(compareDomains(a, b));
  return evidence;
}

function compareDomains({ domain: a }: PreparedPerson, { domain: b }: PreparedPerson): Evidence | undefined {
  if (a === undefined || b === undefined) return undefined;
  const finding = a.text === b.text ? "same" : "far";
  return {
    group: "company",
    field: "company domain",
    finding,
    bits: bitsOf(RATES.domain[finding]),
    left: a.text,
    right: b.text,
  };
}
