import type { PreparedPerson } from "../../packages/core/src/crm/duplicates/prepare-person.ts";

/** A key that more people share brings too many pairs for what it finds. */
const LARGEST_BLOCK = 150;

/** Pairs of indexes, the smaller first, of people who have a key in common. */
export function blockPeople(people: readonly PreparedPerson[]): [number, number][] {
  const blocks = new Map<string, number[]>();
  for (const [index, person] of people.entries()) {
    for (const key of keysOf(person)) {
      const block = blocks.get(key);
      if (block === undefined) blocks.set(key, [index]);
      else if (block.length <= LARGEST_BLOCK) block.push(index);
    }
  }
  const seen = new Set<number>();
  const pairs: [number, number][] = [];
  for (const block of blocks.values()) {
    if (block.length > LARGEST_BLOCK) continue;
    for (const [at, i] of block.entries()) {
      for (const j of block.slice(at + 1)) {
        const id = i * people.length + j;
        if (seen.has(id)) continue;
        seen.add(id);
        pairs.push([i, j]);
      }
    }
  }
  return pairs;
}

/** Several kinds of key, so that an error in one field leaves the others. */
function keysOf(person: PreparedPerson): Set<string> {
  const keys = new Set<string>();
  const parts = person.name?.parts.map(({ text }) => text) ?? [];
  for (const { address, local, isRole } of person.emails) {
    keys.add(`email ${address}`);
    if (!isRole) keys.add(`local ${local.text}`);
  }
  for (const { number } of person.phones) {
    keys.add(`phone ${number.text.slice(-7)}`);
    keys.add(`phone starts ${number.text.slice(0, 6)}`);
  }
  const birth = person.birthDate?.digits.text;
  if (birth !== undefined) {
    keys.add(`born ${birth}`);
    for (const part of parts) {
      keys.add(`${part.slice(0, 2)} born in ${birth.slice(0, 6)}`);
      keys.add(`${part.slice(0, 2)} born on ${birth.slice(4)}`);
    }
  }
  for (const [at, part] of parts.entries()) {
    for (const other of parts.slice(at + 1))
      keys.add(`names ${[part.slice(0, 4), other.slice(0, 4)].sort().join(" ")}`);
    if (person.domain !== undefined) keys.add(`${part.slice(0, 3)} at ${person.domain.text}`);
  }
  for (const { kind, word } of person.attributes) {
    if (kind === "identifier") keys.add(`identifier ${word.text}`);
    if (kind === "street") keys.add(`street ${word.text.slice(0, 12)}`).add(`street ends ${word.text.slice(-12)}`);
    if (kind !== "postcode" && kind !== "locality") continue;
    for (const part of parts) keys.add(`${part.slice(0, 2)} in ${word.text.slice(0, 6)}`);
  }
  return keys;
}
