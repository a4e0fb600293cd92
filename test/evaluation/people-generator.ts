import type { ComparablePerson } from "../../packages/core/src/crm/duplicates/prepare-person.ts";
export interface LabelledPerson {
  readonly id: string;
  /** Records of one person have one entity. */
  readonly entity: string;
  readonly person: ComparablePerson;
}
export function generatePeople(_options: { seed: number; entities: number }): LabelledPerson[] {
  return [];
}
