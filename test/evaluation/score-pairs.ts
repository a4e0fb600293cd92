import { scorePrepared } from "../../packages/core/src/crm/duplicates/compare-people.ts";
import { countShares, type ValueShares } from "../../packages/core/src/crm/duplicates/count-shares.ts";
import { type PreparedPerson, preparePerson } from "../../packages/core/src/crm/duplicates/prepare-person.ts";
import { blockPeople } from "./block-people.ts";
import type { LabelledPerson } from "./people-generator.ts";

export interface ScoredPair {
  /** Indexes of the two people. */
  readonly left: number;
  readonly right: number;
  readonly confidence: number;
  readonly isTrue: boolean;
}

export interface ScoredPairs {
  readonly people: readonly PreparedPerson[];
  readonly shares: ValueShares | undefined;
  readonly pairs: readonly ScoredPair[];
  /** All of them, those that blocking missed included. */
  readonly truePairs: number;
  readonly durations: { readonly prepareMs: number; readonly blockMs: number; readonly compareMs: number };
}

export interface Quality {
  readonly precision: number;
  readonly recall: number;
  readonly f1: number;
  /** Pairs that were taken for one person and are two. */
  readonly wrong: number;
  readonly missed: number;
}

export function scorePairs(labelled: readonly LabelledPerson[], useShares: boolean): ScoredPairs {
  const startedAt = performance.now();
  const people = labelled.map(({ person }) => preparePerson(person));
  const preparedAt = performance.now();
  const shares = useShares ? countShares(people) : undefined;
  const blocked = blockPeople(people);
  const blockedAt = performance.now();
  const pairs = blocked.map(([left, right]): ScoredPair => {
    const [a, b] = [people[left], people[right]];
    const confidence = a === undefined || b === undefined ? 0 : scorePrepared(a, b, shares);
    return { left, right, confidence, isTrue: labelled[left]?.entity === labelled[right]?.entity };
  });
  const durations = {
    prepareMs: preparedAt - startedAt,
    blockMs: blockedAt - preparedAt,
    compareMs: performance.now() - blockedAt,
  };
  return { people, shares, pairs, truePairs: countTruePairs(labelled), durations };
}

export function qualityAt(threshold: number, { pairs, truePairs }: ScoredPairs): Quality {
  const positive = pairs.filter(({ confidence }) => confidence >= threshold);
  const right = positive.filter(({ isTrue }) => isTrue).length;
  const precision = positive.length === 0 ? 1 : right / positive.length;
  const recall = truePairs === 0 ? 1 : right / truePairs;
  const f1 = precision + recall === 0 ? 0 : (2 * precision * recall) / (precision + recall);
  return { precision, recall, f1, wrong: positive.length - right, missed: truePairs - right };
}

function countTruePairs(labelled: readonly LabelledPerson[]): number {
  const sizes = new Map<string, number>();
  for (const { entity } of labelled) sizes.set(entity, (sizes.get(entity) ?? 0) + 1);
  let pairs = 0;
  for (const size of sizes.values()) pairs += (size * (size - 1)) / 2;
  return pairs;
}
