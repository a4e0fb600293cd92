import type { PreparedPerson } from "./prepare-person.ts";

/**
 * How common a value is among the organization's people beside the two that are compared: a share in (0, 1], or
 * undefined when it is not known. Fields are "email", "given_name", "surname", "birth_date", "phone", and an
 * attribute's key; values are those of `valuesToCount`.
 */
export type ValueShares = (field: string, value: string) => number | undefined;

/** Below this many people a value that occurs once or twice may be common all the same. */
const ENOUGH_PEOPLE = 500;

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
  return (field, value) => {
    // The two that share it say nothing about how common it is.
    const others = (counts.get(field)?.get(value) ?? 0) - 2;
    if (others > 0) return others / total;
    return total < ENOUGH_PEOPLE ? undefined : 0.5 / total;
  };
}
