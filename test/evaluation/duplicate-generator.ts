import type { ComparablePerson } from "../../packages/core/src/crm/duplicates/prepare-person.ts";
import { CITIES, NICKNAMES, STREETS } from "./people-vocabulary.ts";
import type { SeededRandom } from "./seeded-random.ts";

type Change = (random: SeededRandom, person: ComparablePerson) => ComparablePerson;

/** A second record of a person, as it comes about: typed again, from an old list, after a move. */
export function duplicateOf(random: SeededRandom, person: ComparablePerson): ComparablePerson {
  let copy = person;
  const changes = random.between(1, 3);
  for (let i = 0; i < changes; i += 1) copy = random.pickCommon(CHANGES)(random, copy);
  return copy;
}

/** The more frequent further up. */
const CHANGES: readonly Change[] = [
  (random, person) => ({ ...person, name: typo(random, person.name) }),
  (random, person) => ({ ...person, name: nickname(random, person.name) }),
  (_, person) => withAttribute(person, "phone", (phone) => phone.replace(/^0/, "+44 ").replace(/(\d{3})$/, "-$1")),
  (_, person) => ({ ...person, email: person.email === null ? null : person.email.toUpperCase() }),
  (random, person) => withAttribute(person, "street", (street) => typo(random, street) ?? street),
  (_, person) => ({ ...person, email: null }),
  (random, person) => withAttribute(person, random.pick(["phone", "mobile", "date_of_birth", "city"]), () => ""),
  (random, person) => withAttribute(person, "date_of_birth", (date) => dateWithSlip(random, date)),
  (random, person) => ({ ...person, name: rearranged(random, person.name) }),
  (_, person) => withAttribute(person, "street", (street) => street.replace("Street", "St").replace("Road", "Rd.")),
  (_, person) => ({ ...person, email: person.email?.replace("@", "+news@") ?? null }),
  moved,
  (random, person) => ({ ...person, email: typo(random, person.email) }),
  (random, person) => withAttribute(person, "mobile", () => `07${random.between(100_000_000, 999_999_999)}`),
  (random, person) => changedEmployer(random, person),
];

function withAttribute(person: ComparablePerson, key: string, change: (value: string) => string): ComparablePerson {
  const value = person.attributes[key];
  if (typeof value !== "string") return person;
  return { ...person, attributes: { ...person.attributes, [key]: change(value) } };
}

function typo(random: SeededRandom, text: string | null): string | null {
  if (text === null || text.length < 4) return text;
  const at = random.between(1, text.length - 3);
  const letter = random.pick([..."aeiorstnl"]);
  const [one = "", other = ""] = text.slice(at, at + 2);
  if (one === " " || other === " ") return text;
  return random.pick([
    `${text.slice(0, at)}${other}${one}${text.slice(at + 2)}`,
    `${text.slice(0, at)}${text.slice(at + 1)}`,
    `${text.slice(0, at)}${letter}${text.slice(at)}`,
    `${text.slice(0, at)}${letter}${text.slice(at + 1)}`,
  ]);
}

function nickname(random: SeededRandom, name: string | null): string | null {
  const [given = "", ...rest] = name?.split(" ") ?? [];
  const short = NICKNAMES[given] ?? (random.chance(0.5) ? `${given.charAt(0)}.` : given);
  return name === null ? null : [short, ...rest].join(" ");
}

function rearranged(random: SeededRandom, name: string | null): string | null {
  const [given, ...rest] = name?.split(" ") ?? [];
  if (given === undefined || rest.length === 0) return name;
  const surname = rest.join(" ");
  return random.pick([
    `${surname}, ${given}`,
    `${surname} ${given}`,
    `Dr. ${given} ${surname}`,
    `${given} M. ${surname}`,
  ]);
}

function dateWithSlip(random: SeededRandom, date: string): string {
  const [year = "", month = "", day = ""] = date.split("-");
  return random.pick([
    `${year}-${day}-${month}`,
    `${year}${month}${day}`,
    `${year}-${month}-${day.slice(0, 1)}${random.between(0, 9)}`,
  ]);
}

function moved(random: SeededRandom, person: ComparablePerson): ComparablePerson {
  if (person.attributes.street === undefined) return person;
  const [city, area] = random.pickCommon(CITIES);
  const street = `${random.between(1, 180)} ${random.pickCommon(STREETS)} Road`;
  const postcode = `${area}${random.between(1, 28)} ${random.between(1, 9)}AB`;
  return { ...person, attributes: { ...person.attributes, street, city, postcode } };
}

function changedEmployer(random: SeededRandom, person: ComparablePerson): ComparablePerson {
  const domain = `${random.pick(STREETS).toLowerCase()}-${random.pick(["group", "partners", "labs"])}.com`;
  const local = person.email?.split("@")[0];
  return {
    ...person,
    domain,
    email: local === undefined ? null : `${local}@${domain}`,
    attributes: { ...person.attributes, company: domain.slice(0, -4).replace("-", " ") },
  };
}
