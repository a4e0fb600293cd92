import { expect, test } from "vitest";
import { comparePeople } from "./compare-people.ts";
import type { ComparablePerson } from "./prepare-person.ts";

function person(fields: Partial<ComparablePerson>): ComparablePerson {
  return { name: null, email: null, domain: null, attributes: {}, ...fields };
}

function confidence(a: Partial<ComparablePerson>, b: Partial<ComparablePerson>): number {
  return comparePeople(person(a), person(b)).confidence;
}

const home = {
  street: "12 Oak Street",
  city: "Leeds",
  postcode: "LS4 9TX",
  state: "Yorkshire",
  phone: "0113 496 0001",
};
const work = { company: "Acme Ltd", city: "Leeds", street: "1 Mill Lane", postcode: "LS1 1AA", phone: "0113 496 0002" };
const ada = { name: "Ada Lovelace", email: "ada.lovelace@example.com" };

test.each<[string, Partial<ComparablePerson>]>([
  ["an email address and a country", { email: ada.email, attributes: { country: "GB" } }],
  ["a name and a city", { name: ada.name, attributes: { city: "London" } }],
  ["a name and an attribute nobody knows", { name: ada.name, attributes: { shoe_size: 38 } }],
  ["a name and a company's domain", { name: ada.name, domain: "example.com" }],
  ["all fields", { ...ada, domain: "example.com", attributes: { ...home, date_of_birth: "1815-12-10" } }],
])("a person with %s is surely that person", (_, fields) => {
  expect(confidence(fields, fields)).toBeGreaterThanOrEqual(0.95);
});

test("records without anything to compare are no candidates", () => {
  const { confidence: empty, reasons } = comparePeople(person({}), person({ name: " ", attributes: { city: "" } }));
  expect(empty).toBeLessThan(0.01);
  expect(reasons).toEqual([]);
});

test("the same personal address outweighs names that are compatible", () => {
  for (const name of ["A. Lovelace", "Lovelace, Ada", "Ada King Lovelace", "Ada Lovelace-King", "Ada Lovelcae"]) {
    expect(confidence(ada, { name, email: "Ada.Lovelace+news@Example.com" }), name).toBeGreaterThan(0.95);
  }
});

test("Gmail's dots and tags do not make another address", () => {
  expect(confidence({ email: "a.d.a@gmail.com" }, { email: "ADA+shop@googlemail.com" })).toBeGreaterThan(0.9);
  expect(confidence({ email: "a.d.a@example.com" }, { email: "grace@example.com" })).toBeLessThan(0.01);
});

test("people who share a role's mailbox and the company behind it stay apart", () => {
  const company = { email: "info@acme.com", domain: "acme.com", attributes: work };
  expect(confidence({ name: "Ada Lovelace", ...company }, { name: "Grace Hopper", ...company })).toBeLessThan(0.05);
  expect(confidence({ ...company, name: "Ada Lovelace" }, { ...company, name: null })).toBeLessThan(0.5);
});

test("colleagues with the same given name stay apart", () => {
  const john = { name: "John Miller", email: "john.miller@acme.com", attributes: work };
  expect(confidence(john, { name: "John Baker", email: "john.baker@acme.com", attributes: work })).toBeLessThan(0.1);
});

test("colleagues with the same surname stay apart", () => {
  const john = { name: "John Miller", email: "john.miller@acme.com", attributes: work };
  expect(confidence(john, { name: "Rita Miller", email: "rita.miller@acme.com", attributes: work })).toBeLessThan(0.1);
});

test("relatives at one address with one telephone stay apart, born on different days or not", () => {
  const mother = { name: "Maria Rossi", attributes: home };
  const son = { name: "Davide Rossi", attributes: home };
  expect(confidence(mother, son)).toBeLessThan(0.25);
  const born = (date: string) => ({ attributes: { ...home, date_of_birth: date } });
  expect(confidence({ ...mother, ...born("1960-02-03") }, { ...son, ...born("1991-11-30") })).toBeLessThan(0.05);
});

test("a couple that shares an email address, a telephone and a home stays apart", () => {
  const shared = { email: "rossi.bianchi@example.com", attributes: { ...home, mobile: "07700 900123" } };
  expect(confidence({ name: "Maria Rossi", ...shared }, { name: "Luigi Bianchi", ...shared })).toBeLessThan(0.1);
});

test("an address alone, however many fields repeat it, leaves open which of its people it is", () => {
  expect(confidence({ attributes: { ...home, ...work } }, { attributes: { ...home, ...work } })).toBeLessThan(0.5);
});

test("namesakes with other numbers, employers and cities stay apart", () => {
  const one = { name: "John Smith", email: "john@acme.com", attributes: { city: "Leeds", mobile: "07700 900111" } };
  const other = {
    name: "John Smith",
    email: "smith@globex.com",
    attributes: { city: "Cardiff", mobile: "07700 900222" },
  };
  expect(confidence(one, other)).toBeLessThan(0.3);
});

test("a person who moved house and changed employer is still found by name and birth date", () => {
  const before = { name: "Grace Hopper", domain: "navy.mil", attributes: { ...home, date_of_birth: "1906-12-09" } };
  const after = { name: "Grace Hopper", domain: "dec.com", attributes: { ...work, dob: "19061209" } };
  expect(confidence(before, after)).toBeGreaterThan(0.95);
});

test.each([
  ["swapped order", "Grace Hopper", "Hopper Grace"],
  ["surname first", "Grace Hopper", "Hopper, Grace"],
  ["a title", "Grace Hopper", "Rear Adm. Dr. Grace Hopper"],
  ["a nickname", "Robert Hopper", "Bob Hopper"],
  ["an initial", "Grace Hopper", "G. Hopper"],
  ["a middle name", "Grace Brewster Hopper", "Grace Hopper"],
  ["a letter left out", "Grace Hopper", "Grace Hoper"],
  ["neighbouring letters swapped", "Grace Hopper", "Garce Hopper"],
  ["accents", "José García", "Jose Garcia"],
  ["a letter that is none elsewhere", "Søren Łukasz", "Soren Lukasz"],
  ["a particle written apart", "Anna van den Berg", "Anna Vandenberg"],
  ["an apostrophe", "Sinéad O'Connor", "Sinead O’Connor"],
  ["a given name in two words", "Mary Anne Hopper", "Maryanne Hopper"],
])("names that differ by %s agree", (_, one, other) => {
  const born = { attributes: { date_of_birth: "1980-05-17" } };
  expect(confidence({ name: one, ...born }, { name: other, ...born })).toBeGreaterThan(0.8);
  expect(confidence({ name: one }, { name: other })).toBeGreaterThan(confidence({}, {}));
});

test("an initial in the middle does not pass for another given name", () => {
  const { reasons } = comparePeople(person({ name: "John M. Smith" }), person({ name: "Maria Smith" }));
  expect(reasons).toEqual(["Same surname, but different given names: 'John M. Smith' and 'Maria Smith'"]);
});

test("birth dates are read in several forms, and a slip is close", () => {
  const weight = (one: string, other: string) =>
    confidence(
      { name: "Grace Hopper", attributes: { dob: one } },
      { name: "Grace Hopper", attributes: { dob: other } },
    );
  const same = weight("1975-03-12", "1975-03-12");
  for (const form of ["19750312", "1975-03-12T00:00:00Z", "12/03/1975", "12.3.1975"]) {
    expect(weight("1975-03-12", form), form).toBe(same);
  }
  for (const slip of ["1975-03-13", "1975-12-03", "1957-03-12"]) {
    expect(weight("1975-03-12", slip), slip).toBeLessThan(same);
    expect(weight("1975-03-12", slip), slip).toBeGreaterThan(weight("1975-03-12", "1968-07-29"));
  }
});

test("dates that stand for an unknown one say nothing", () => {
  const nobody = { attributes: { date_of_birth: "1900-01-01" } };
  expect(confidence(nobody, nobody)).toBe(confidence({}, {}));
});

test("telephone numbers are compared by their last digits, whichever attribute they stand in", () => {
  const { reasons } = comparePeople(
    person({ attributes: { phone_number: "+44 113 496 0001" } }),
    person({ attributes: { tel: "(0113) 496-0001" } }),
  );
  expect(reasons).toEqual(["Same phone number, written '(0113) 496-0001' and '+44 113 496 0001'"]);
});

test("neighbours are not at one address", () => {
  const at = (street: string) => ({ name: "Grace Hopper", attributes: { street } });
  expect(confidence(at("12 Main Street"), at("12 Main St."))).toBeGreaterThan(
    confidence(at("12 Main St."), at("14 Main St.")),
  );
});

test("public providers' domains do not make a company", () => {
  const at = (domain: string) => confidence({ domain }, { domain });
  expect(at("gmail.com")).toBe(confidence({}, {}));
  expect(at("acme.com")).toBeGreaterThan(at("gmail.com"));
});

test("a rare value weighs more than a common one", () => {
  const born = { attributes: { city: "Leeds" } };
  const smith = person({ name: "John Smith", ...born });
  const withShare = (share: number) =>
    comparePeople(smith, smith, (field) => (field === "surname" ? share : undefined));
  expect(withShare(0.2).confidence).toBeLessThan(withShare(0.02).confidence);
  expect(withShare(0.02).confidence).toBeLessThan(withShare(0.0005).confidence);
});

test("reasons name what speaks for and what against, the weightiest first", () => {
  const { reasons } = comparePeople(
    person({
      name: "Jon Smith",
      email: "ada@example.com",
      attributes: { phone: "0113 496 0001", job_title: "Engineer" },
    }),
    person({
      name: "John Smith",
      email: "ada@example.com",
      attributes: { phone: "0161 777 8899", job_title: "Painter" },
    }),
  );
  expect(reasons).toEqual([
    "Same email address ada@example.com",
    "Names are close: 'John Smith' and 'Jon Smith'",
    "Same company domain example.com",
    "Phone numbers differ: '0113 496 0001' and '0161 777 8899'",
    "Job titles differ: 'Engineer' and 'Painter'",
  ]);
});

test("reasons show values on one line, short and without invisible characters", () => {
  const name = `Ada\u0000\u001b[31m\n\u202eLovelace ${"x".repeat(500)}`;
  const { reasons } = comparePeople(person({ name }), person({ name }));
  expect(reasons).toHaveLength(1);
  expect(reasons[0]).toMatch(/^Same name Ada \[31m Lovelace x+…$/);
  expect(reasons[0]?.length).toBeLessThan(100);
});

test("objects and lists among the attributes are passed over", () => {
  const odd = JSON.parse(
    '{"__proto__": {"city": "Leeds"}, "constructor": "x", "tags": ["a"], "nested": {"a": 1}, "n": null}',
  );
  const { confidence: found, reasons } = comparePeople(person({ attributes: odd }), person({ attributes: odd }));
  expect(found).toBeLessThan(0.01);
  expect(reasons).toEqual(["Same constructor x"]);
});
