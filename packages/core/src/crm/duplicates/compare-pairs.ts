import type { PersonSummary } from "@quayside/contracts";
import type { Database } from "@quayside/db";
import { type PersonRow, toPersonRecord } from "../people/person-state.ts";
import { comparePrepared, scorePrepared } from "./compare-people.ts";
import { valuesToCount } from "./count-shares.ts";
import { type PreparedPerson, preparePerson } from "./prepare-person.ts";
import { readValueShares, valueKey } from "./read-value-shares.ts";

export type PersonPair = readonly [PersonRow, PersonRow];

export interface ComparedPair {
  pair: PersonPair;
  confidence: number;
  reasons: string[];
}

interface ReadyPerson {
  prepared: PreparedPerson;
  values: ReadonlySet<string>;
}

/** The pairs of at least this confidence, the surest first. Values that are rare in the organization weigh more. */
export async function comparePairs(
  db: Database,
  organizationId: string,
  pairs: readonly PersonPair[],
  minConfidence: number,
): Promise<ComparedPair[]> {
  const people = new Map<string, PersonRow>();
  for (const pair of pairs) for (const person of pair) people.set(person.id, person);
  const ready = new Map([...people].map(([id, person]) => [id, makeReady(person)]));
  const wanted = new Set<string>();
  for (const [one, other] of pairs) {
    const values = ready.get(other.id)?.values;
    for (const value of ready.get(one.id)?.values ?? []) if (values?.has(value)) wanted.add(value);
  }
  const shares = await readValueShares(db, organizationId, wanted, [...people.values()]);
  const compared: ComparedPair[] = [];
  for (const pair of pairs) {
    const [one, other] = [ready.get(pair[0].id)?.prepared, ready.get(pair[1].id)?.prepared];
    if (!one || !other) continue;
    const confidence = rounded(scorePrepared(one, other, shares));
    if (confidence < minConfidence) continue;
    compared.push({ pair, confidence, reasons: comparePrepared(one, other, shares).reasons });
  }
  return compared.sort((a, b) => b.confidence - a.confidence || (keyOf(a.pair) < keyOf(b.pair) ? -1 : 1));
}

function makeReady(person: PersonRow): ReadyPerson {
  const prepared = preparePerson(person);
  return { prepared, values: new Set(valuesToCount(prepared).map(([field, value]) => valueKey(field, value))) };
}

function rounded(confidence: number): number {
  return Math.round(confidence * 10_000) / 10_000;
}

function keyOf([one, other]: PersonPair): string {
  return `${one.id} ${other.id}`;
}

export function toPersonSummary(person: PersonRow): PersonSummary {
  const { attributes: _, tags: __, ...summary } = toPersonRecord(person);
  return summary;
}
