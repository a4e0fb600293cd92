import fc from "fast-check";
import { expect, test } from "vitest";
import { changesBetween, newPerson, PersonFault, type PersonFields, withFields } from "./change-person.ts";
import { domainOfEmail } from "./mail-domains.ts";
import type { PersonState } from "./person-state.ts";

const text = fc.constantFrom("a", "b", "c", "\u00e9", "constructor", "toString", "1");
const attributes = fc.dictionary(text, fc.oneof(fc.constant(null), fc.jsonValue({ maxDepth: 3 })), {
  noNullPrototype: true,
});
const email = fc.constantFrom("a@one.example", "A@ONE.example", "b@two.example", "c@gmail.com", "d@gmx.de");
const domain = fc.constantFrom("one.example", "TWO.example", "b\u00fccher.example", "gmail.com");
const fields: fc.Arbitrary<PersonFields> = fc.record(
  { email, domain, name: text, tags: fc.array(text, { maxLength: 6 }), attributes },
  { requiredKeys: [] },
);
/** Everything that a person can have become by way of some changes. */
const person = fc
  .array(fields, { maxLength: 3 })
  .map((steps) => steps.reduce(withFields, newPerson("00000000-0000-4000-8000-000000000000", 0)));

/** The same value with its keys in another order, as PostgreSQL gives it back. */
function reordered<T>(value: T): T {
  if (Array.isArray(value)) return value.map(reordered) as T;
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .reverse()
      .map(([key, item]) => [key, reordered(item)]),
  ) as T;
}

function frozen<T>(value: T): T {
  if (typeof value === "object" && value !== null) for (const item of Object.values(Object.freeze(value))) frozen(item);
  return value;
}

test("the same fields set twice are the same as once", () => {
  fc.assert(
    fc.property(person, fields, (before, given) => {
      const once = withFields(before, given);
      expect(withFields(once, given)).toEqual(once);
      expect(changesBetween(once, withFields(once, given))).toBeNull();
    }),
  );
});

test("no fields change nothing, and neither the person nor what was given is touched", () => {
  fc.assert(
    fc.property(person, fields, (before, given) => {
      expect(withFields(before, {})).toEqual(before);
      const copy = structuredClone(before);
      withFields(frozen(before), frozen(given));
      expect(before).toEqual(copy);
    }),
  );
});

test("each given field is set, and no other one but the domain that follows the email", () => {
  fc.assert(
    fc.property(person, fields, (before, given) => {
      const after = withFields(before, given);
      expect(after.email).toBe(given.email ?? before.email);
      expect(after.name).toBe(given.name ?? before.name);
      expect(after.tags).toEqual(given.tags ? [...new Set(given.tags)] : before.tags);
      if (given.email === undefined && given.domain === undefined) expect(after.domain).toBe(before.domain);
      for (const name of ["id", "createdAt", "companyId", "engagement", "score"] as const) {
        expect(after[name]).toBe(before[name]);
      }
    }),
  );
});

test("attributes are merged key by key, and null removes one", () => {
  fc.assert(
    fc.property(person, attributes, (before, given) => {
      const after = withFields(before, { attributes: given }).attributes;
      const keys = new Set([...Object.keys(before.attributes), ...Object.keys(given)]);
      for (const key of keys) {
        const expected = Object.hasOwn(given, key) ? given[key] : before.attributes[key];
        expect(Object.hasOwn(after, key)).toBe(expected !== null);
        if (expected !== null) expect(after[key]).toEqual(expected);
      }
      expect(Object.keys(after).every((key) => keys.has(key))).toBe(true);
    }),
  );
});

test("a domain that came from the email follows it; a given one stays", () => {
  fc.assert(
    fc.property(email, email, domain, (first, second, given) => {
      const start = newPerson("00000000-0000-4000-8000-000000000000", 0);
      const derived = withFields(start, { email: first });
      expect(derived.domain).toBe(domainOfEmail(first));
      expect(withFields(derived, { email: second }).domain).toBe(domainOfEmail(second));
      const explicit = withFields(derived, { domain: given });
      if (explicit.domain !== derived.domain) {
        expect(withFields(explicit, { email: second }).domain).toBe(explicit.domain);
      }
      expect(withFields(derived, { email: second, domain: given }).domain).toBe(explicit.domain);
    }),
  );
});

test("nothing differs between a person and the same one with keys in another order", () => {
  fc.assert(
    fc.property(person, (one) => {
      expect(changesBetween(one, one)).toBeNull();
      expect(changesBetween(one, { ...one, attributes: reordered(one.attributes) })).toBeNull();
    }),
  );
});

test("what differs is named exactly", () => {
  fc.assert(
    fc.property(person, person, (before, after) => {
      const changes = changesBetween(before, after);
      const named = (field: string) => changes?.fields.includes(field) ?? false;
      for (const field of ["email", "domain", "name", "companyId"] as const) {
        expect(named(field)).toBe(before[field] !== after[field]);
      }
      const same = JSON.stringify(sorted(before.attributes)) === JSON.stringify(sorted(after.attributes));
      expect(named("attributes")).toBe(!same);
      const [tagged, untagged] = [new Set(changes?.tagged), new Set(changes?.untagged)];
      expect(new Set([...before.tags.filter((tag) => !untagged.has(tag)), ...tagged])).toEqual(new Set(after.tags));
      expect([...tagged].some((tag) => before.tags.includes(tag))).toBe(false);
      expect([...untagged].every((tag) => before.tags.includes(tag))).toBe(true);
      const reorderedTags = tagged.size + untagged.size === 0 && before.tags.join() !== after.tags.join();
      expect(named("tags")).toBe(reorderedTags);
      if (changes === null) expect(comparable(after)).toEqual(comparable(before));
    }),
  );
});

/** Keys in one order, whatever their depth. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== "object" || value === null) return value;
  return Object.entries(value)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, item]) => [key, sorted(item)]);
}

const comparable = ({ email, domain, name, tags, attributes }: PersonState) => ({
  email,
  domain,
  name,
  tags,
  attributes,
});

test("a fault names its field and leaves the person as it was", () => {
  const before = frozen(withFields(newPerson("00000000-0000-4000-8000-000000000000", 0), { attributes: { a: 1 } }));
  const many = Object.fromEntries(Array.from({ length: 200 }, (_, index) => [`k${index}`, 1]));
  for (const [given, field] of [
    [{ domain: "1.2" }, "domain"],
    [{ domain: "127.0.0.1" }, "domain"],
    [{ attributes: many }, "attributes"],
    [{ attributes: { b: "x".repeat(65_536) } }, "attributes"],
  ] as const) {
    expect(() => withFields(before, given)).toThrow(expect.objectContaining({ field }));
    expect(() => withFields(before, given)).toThrow(PersonFault);
  }
});
