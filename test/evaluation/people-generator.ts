import type { ComparablePerson } from "../../packages/core/src/crm/duplicates/prepare-person.ts";
import { duplicateOf } from "./duplicate-generator.ts";
import { CITIES, GIVEN_NAMES, PROVIDERS, STREETS, SURNAME_ENDINGS, SURNAMES, TRADES } from "./people-vocabulary.ts";
import { SeededRandom } from "./seeded-random.ts";

export interface LabelledPerson {
  readonly id: string;
  /** Records of one person have one entity. */
  readonly entity: string;
  readonly person: ComparablePerson;
}

/** All that is true of a made-up person; a record leaves some of it out. */
export interface Facts {
  given: string;
  surname: string;
  email: string;
  company: string;
  domain: string;
  phone: string;
  mobile: string;
  born: string;
  street: string;
  city: string;
  postcode: string;
  title: string;
}

const TITLES = ["Engineer", "Sales manager", "Director", "Buyer", "Accountant", "Designer", "Consultant", "Assistant"];
/** Of this share of the people there are two records, of a third of these three. */
const DUPLICATED = 0.35;

/**
 * People of a made-up organization, some of them recorded more than once. Half of them are hard to tell apart:
 * relatives at one address, colleagues at one company, namesakes, and those who share a role's mailbox.
 */
export function generatePeople({ seed, entities }: { seed: number; entities: number }): LabelledPerson[] {
  const random = new SeededRandom(seed);
  const people: LabelledPerson[] = [];
  const facts: Facts[] = [];
  while (facts.length < entities) facts.push(...makeGroup(random));
  for (const [entity, known] of facts.slice(0, entities).entries()) {
    const label = { entity: String(entity) };
    people.push({ ...label, id: `${entity}-0`, person: recordOf(random, known) });
    if (!random.chance(DUPLICATED)) continue;
    const copies = random.chance(1 / 3) ? 2 : 1;
    for (let copy = 1; copy <= copies; copy += 1) {
      people.push({ ...label, id: `${entity}-${copy}`, person: duplicateOf(random, recordOf(random, known)) });
    }
  }
  return people;
}

function makeGroup(random: SeededRandom): Facts[] {
  const first = makeFacts(random);
  const kind = random.next();
  if (kind < 0.5) return [first];
  if (kind < 0.65) return groupOf(random, first, (given) => makeRelative(random, first, given));
  if (kind < 0.85) return groupOf(random, first, (given) => makeColleague(random, first, given));
  if (kind < 0.9) return [first, makeFacts(random, first.given, first.surname)];
  const email = `${random.pick(["info", "sales", "office", "support"])}@${first.domain}`;
  const others = groupOf(random, first, (given) => makeColleague(random, first, given));
  return others.map((facts) => ({ ...facts, email }));
}

/** Two to four people, no two of whom have the same given name. */
function groupOf(random: SeededRandom, first: Facts, makeNext: (given: string) => Facts): Facts[] {
  const group = new Map([[first.given, first]]);
  const size = random.between(2, 4);
  while (group.size < size) {
    const given = random.pickCommon(GIVEN_NAMES);
    if (!group.has(given)) group.set(given, makeNext(given));
  }
  return [...group.values()];
}

function makeFacts(random: SeededRandom, given = random.pickCommon(GIVEN_NAMES), surname = makeSurname(random)): Facts {
  const company = `${random.pickCommon(SURNAMES)} ${random.pick(TRADES)}`;
  const domain = `${company.split(" ").map(lettersOf).join("-")}.com`;
  const [city, postcode] = random.pickCommon(CITIES);
  return {
    ...{ given, surname, company, domain, city },
    email: emailOf(random, given, surname, domain),
    phone: `0${random.between(20_000_000, 899_999_999)}`,
    mobile: `+44 7${random.between(100_000_000, 999_999_999)}`,
    born: dateOf(random),
    street: `${random.between(1, 180)} ${random.pickCommon(STREETS)} ${random.pick(["Street", "Road", "Lane", "Avenue"])}`,
    postcode: `${postcode}${random.between(1, 28)} ${random.between(1, 9)}${random.pick(["AB", "DE", "HJ", "LN", "QR", "TX"])}`,
    title: random.pick(TITLES),
  };
}

function makeSurname(random: SeededRandom): string {
  return random.pickCommon(SURNAMES) + (random.chance(0.6) ? random.pick(SURNAME_ENDINGS) : "");
}

function makeRelative(random: SeededRandom, { surname, street, city, postcode, phone }: Facts, given: string): Facts {
  return { ...makeFacts(random, given, surname), street, city, postcode, phone };
}

function makeColleague(random: SeededRandom, first: Facts, given: string): Facts {
  const own = makeFacts(random, given);
  const { company, domain, city, postcode, street, phone } = first;
  const shared = random.chance(0.5) ? { company, domain, city, postcode, street, phone } : { company, domain, city };
  return { ...own, ...shared, email: `${localOf(random, own.given, own.surname)}@${domain}` };
}

/** A record has most of what is known, and says it in its own way. */
function recordOf(random: SeededRandom, facts: Facts): ComparablePerson {
  const attributes: Record<string, unknown> = {};
  const add = (key: string, value: string, probability: number) => {
    if (random.chance(probability)) attributes[key] = value;
  };
  add("phone", facts.phone, 0.6);
  add("mobile", facts.mobile, 0.6);
  add("date_of_birth", facts.born, 0.5);
  add("company", facts.company, 0.6);
  add("job_title", facts.title, 0.5);
  if (random.chance(0.7))
    Object.assign(attributes, { street: facts.street, city: facts.city, postcode: facts.postcode });
  add("lead_source", random.pick(["web", "fair", "referral"]), 0.6);
  return {
    name: random.chance(0.97) ? `${facts.given} ${facts.surname}` : null,
    email: random.chance(0.85) ? facts.email : null,
    domain: random.chance(0.6) ? facts.domain : null,
    attributes,
  };
}

function emailOf(random: SeededRandom, given: string, surname: string, domain: string): string {
  const local = localOf(random, given, surname);
  if (random.chance(0.5)) return `${local}@${domain}`;
  // Providers have many people of a name, and tell them apart by a number.
  return `${local}${random.between(1, 9999)}@${random.pickCommon(PROVIDERS)}`;
}

function localOf(random: SeededRandom, given: string, surname: string): string {
  const first = lettersOf(given);
  const last = lettersOf(surname);
  return random.pick([
    `${first}.${last}`,
    `${first.charAt(0)}${last}`,
    `${first}${last}`,
    `${first}_${last.charAt(0)}`,
  ]);
}

function lettersOf(name: string): string {
  return name
    .toLowerCase()
    .normalize("NFKD")
    .replace(/[^a-z]/g, "");
}

function dateOf(random: SeededRandom): string {
  const two = (value: number) => String(value).padStart(2, "0");
  return `${random.between(1945, 2004)}-${two(random.between(1, 12))}-${two(random.between(1, 28))}`;
}
