import { kindOfAttribute } from "./attribute-kinds.ts";
import type { PreparedPerson } from "./prepare-person.ts";

/**
 * How common a value is among the organization's people: a share in (0, 1], or
 * undefined when it is not known. Fields are "email", "given_name", "surname", "birth_date", "phone", and an
 * attribute's key; values are those of `valuesToCount`.
 */
export type ValueShares = (field: string, value: string) => number | undefined;

/** Below this many people a value that occurs once or twice may be common all the same. */
export const ENOUGH_PEOPLE = 500;
/** So many records may be one person's: their values are not common because of that. */
export const OWN_RECORDS = 5;
/** Hardly ever two people's, so that no count of people is large enough to tell how rare a value is. */
const IDENTIFYING = new Set(["email", "phone", "birth_date"]);

/** Each field and normalised value of a person whose share is asked for. */
export function valuesToCount(person: PreparedPerson): [field: string, value: string][] {
  const values: [string, string][] = [];
  for (const { address } of person.emails) values.push(["email", address]);
  const parts = person.name?.parts ?? [];
  for (const [index, { text }] of parts.entries()) {
    values.push([index > 0 && index === parts.length - 1 ? "surname" : "given_name", text]);
  }
  if (person.birthDate !== undefined) values.push(["birth_date", person.birthDate.digits.text]);
  for (const { number } of person.phones) values.push(["phone", number.text]);
  for (const { key, word } of person.attributes) values.push([key, word.text]);
  return values;
}

/** Shares of the values of these people. */
export function countShares(people: Iterable<PreparedPerson>): ValueShares {
  const counts = new Map<string, Map<string, number>>();
  let total = 0;
  for (const person of people) {
    total += 1;
    for (const [field, value] of valuesToCount(person)) {
      const values = counts.get(field) ?? new Map<string, number>();
      counts.set(field, values.set(value, (values.get(value) ?? 0) + 1));
    }
  }
  const identifying = new Set([...counts.keys()].filter(isIdentifying));
  return (field, value) => {
    const others = (counts.get(field)?.get(value) ?? 0) - OWN_RECORDS;
    if (others > 0) return others / total;
    return total < ENOUGH_PEOPLE || identifying.has(field) ? undefined : 0.5 / total;
  };
}

/** Values of this field are hardly ever two people's. */
export function isIdentifying(field: string): boolean {
  return IDENTIFYING.has(field) || kindOfAttribute(field) === "identifier";
}
