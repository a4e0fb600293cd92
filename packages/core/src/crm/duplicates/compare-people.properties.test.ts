import fc from "fast-check";
import { expect, test } from "vitest";
import { generatePeople } from "../../../../../test/evaluation/people-generator.ts";
import { qualityAt, scorePairs } from "../../../../../test/evaluation/score-pairs.ts";
import { comparePeople, comparePrepared, scorePrepared } from "./compare-people.ts";
import { countShares, valuesToCount } from "./count-shares.ts";
import { type ComparablePerson, preparePerson } from "./prepare-person.ts";

const KEYS = [
  "phone",
  "mobile",
  "date_of_birth",
  "street",
  "address_2",
  "city",
  "postcode",
  "company",
  "age",
  "gender",
  "x",
];
/** Few values, so that people agree often enough. */
const likely = fc.constantFrom(
  "Ada",
  "Leeds",
  "12 Oak Street",
  "14 Oak St",
  "1975-03-12",
  "19751203",
  "0113 4960001",
  "41",
  "",
);
const junk = fc.oneof(
  fc.string({ unit: "binary", maxLength: 300 }),
  fc.string({ unit: "grapheme", maxLength: 50 }),
  fc.double(),
  fc.boolean(),
  fc.bigInt(),
  fc.constant(null),
  fc.object({ maxDepth: 1 }),
);
const text = fc.option(
  fc.oneof(fc.string({ unit: "binary", maxLength: 300 }), fc.constantFrom("Ada Lovelace", "A. Lovelace")),
);
const anyone: fc.Arbitrary<ComparablePerson> = fc.record({
  name: text,
  email: fc.option(
    fc.oneof(fc.emailAddress(), fc.string(), fc.constantFrom("ada@acme.com", "info@acme.com", "ada@gmail.com")),
  ),
  domain: fc.option(fc.oneof(fc.domain(), fc.string(), fc.constant("acme.com"))),
  attributes: fc.dictionary(
    fc.oneof(fc.constantFrom(...KEYS, "__proto__", "email"), fc.string()),
    fc.oneof(junk, likely),
  ),
});

/** People as they are, of whom the second shares some fields with the first. */
const pair = fc
  .tuple(anyone, anyone, fc.boolean(), fc.boolean())
  .map(([a, b, name, attributes]): [ComparablePerson, ComparablePerson] => [
    a,
    {
      ...b,
      ...(name ? { name: a.name } : {}),
      ...(attributes ? { attributes: { ...a.attributes, ...b.attributes } } : {}),
    },
  ]);

test("whatever the records hold, the confidence is a probability and the reasons are short lines", () => {
  fc.assert(
    fc.property(pair, ([a, b]) => {
      const { confidence, reasons } = comparePeople(a, b);
      expect(confidence).toBeGreaterThanOrEqual(0);
      expect(confidence).toBeLessThanOrEqual(1);
      for (const reason of reasons) {
        expect(reason.length).toBeLessThan(250);
        expect(reason).not.toMatch(/\p{C}/u);
      }
    }),
  );
});

test("it does not matter which record comes first", () => {
  fc.assert(
    fc.property(pair, ([a, b]) => {
      expect(comparePeople(a, b)).toEqual(comparePeople(b, a));
    }),
  );
});

test("the score is the comparison's confidence", () => {
  fc.assert(
    fc.property(pair, ([a, b]) => {
      const [one, other] = [preparePerson(a), preparePerson(b)];
      expect(scorePrepared(one, other)).toBe(comparePrepared(one, other).confidence);
    }),
  );
});

const knownAttributes = fc.dictionary(fc.constantFrom(...KEYS), likely);
const known: fc.Arbitrary<ComparablePerson> = fc.record({
  name: fc.constantFrom("Ada Lovelace", "Ada King", "Grace Hopper", null),
  email: fc.constantFrom("ada@acme.com", "info@acme.com", "king@example.com", null),
  domain: fc.constant(null),
  attributes: knownAttributes,
});

function without(person: ComparablePerson, field: string): ComparablePerson {
  if (field === "name" || field === "email") return { ...person, [field]: null };
  const attributes = Object.fromEntries(Object.entries(person.attributes).filter(([key]) => key !== field));
  return { ...person, attributes };
}

test("a field that is missing in one record is as good as missing in both", () => {
  // Telephone numbers are one field, whichever keys they have.
  const fields = fc.constantFrom("name", "email", ...KEYS.filter((key) => key !== "phone" && key !== "mobile"));
  fc.assert(
    fc.property(known, known, fields, (a, b, field) => {
      const inNeither = comparePeople(without(a, field), without(b, field));
      expect(comparePeople(without(a, field), b)).toEqual(inNeither);
      expect(comparePeople(a, without(b, field))).toEqual(inNeither);
    }),
  );
});

test("leaving out a field leaves the reasons of the others as they are", () => {
  fc.assert(
    fc.property(known, known, fc.constantFrom("name", "date_of_birth", "company", "postcode", "x"), (a, b, field) => {
      const all = comparePeople(a, b).reasons;
      const rest = comparePeople(without(a, field), without(b, field)).reasons;
      expect(all).toEqual(expect.arrayContaining(rest));
    }),
  );
});

test("an empty value is a missing one", () => {
  fc.assert(
    fc.property(known, known, fc.constantFrom(...KEYS), fc.constantFrom("", "  ", null, [], {}), (a, b, key, empty) => {
      const blank = { ...a, attributes: { ...a.attributes, [key]: empty } };
      expect(comparePeople(blank, b)).toEqual(comparePeople(without(a, key), b));
    }),
  );
});

test("records of the most and longest values are compared in milliseconds", () => {
  const long = (seed: string): ComparablePerson => ({
    name: `${seed} `.repeat(50_000),
    email: `${seed.repeat(50_000)}@${"a.".repeat(50_000)}com`,
    domain: "a.".repeat(50_000),
    attributes: Object.fromEntries(Array.from({ length: 5_000 }, (_, i) => [`street_${i}`, seed.repeat(2_000)])),
  });
  const startedAt = performance.now();
  for (let i = 0; i < 10; i += 1) comparePeople(long("abcdefgh"), long("abdcefgh"));
  expect(performance.now() - startedAt).toBeLessThan(3_000);
});

test("only so many attributes are compared", () => {
  const attributes = Object.fromEntries(Array.from({ length: 200 }, (_, i) => [`field_${i}`, "same"]));
  expect(preparePerson({ name: null, email: null, domain: null, attributes }).attributes).toHaveLength(50);
});

test("made-up people are told apart at the one threshold, whichever seed makes them", () => {
  for (const seed of [11, 12]) {
    const scored = scorePairs(generatePeople({ seed, entities: 1_500 }), true);
    const { f1, precision } = qualityAt(0.5, scored);
    expect(f1).toBeGreaterThan(0.94);
    expect(precision).toBeGreaterThan(0.94);
  }
});

test("the same seed makes the same people", () => {
  expect(generatePeople({ seed: 5, entities: 50 })).toEqual(generatePeople({ seed: 5, entities: 50 }));
  expect(generatePeople({ seed: 5, entities: 50 })).not.toEqual(generatePeople({ seed: 6, entities: 50 }));
});

test("shares are asked for values that are counted, and for no others", () => {
  fc.assert(
    fc.property(pair, ([a, b]) => {
      const [one, other] = [preparePerson(a), preparePerson(b)];
      const counted = new Set([one, other].flatMap(valuesToCount).map((entry) => JSON.stringify(entry)));
      scorePrepared(one, other, (field, value) => {
        expect(counted).toContain(JSON.stringify([field, value]));
        return undefined;
      });
    }),
  );
});

test("values that only a person's own records have are not taken for common", () => {
  const record = preparePerson({
    name: "Ada Lovelace",
    email: "ada@acme.com",
    domain: null,
    attributes: { city: "Leeds" },
  });
  const others = Array.from({ length: 995 }, (_, i) =>
    preparePerson({ name: `John${i} Smith`, email: `john${i}@acme.com`, domain: null, attributes: { city: "York" } }),
  );
  const shares = countShares([...Array.from({ length: 5 }, () => record), ...others]);
  expect(shares("email", "ada@acme.com")).toBeUndefined();
  expect(shares("surname", "lovelace")).toBe(0.5 / 1_000);
  expect(shares("surname", "smith")).toBe(0.99);
  expect(shares("city", "york")).toBe(0.99);
});
