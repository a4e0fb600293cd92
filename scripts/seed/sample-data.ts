// Companies, people and touchpoints that look like a CRM's. They come in groups of 500 people and 50 companies; a group
// follows from the seed and its number alone, so any of them can be made again by itself.
import { createHash } from "node:crypto";
import {
  CITIES,
  COMPANY_WORDS,
  GIVEN_NAMES,
  LEGAL_FORMS,
  MAIL_PROVIDERS,
  PAGES,
  SOURCES,
  SUBJECTS,
  SURNAMES,
  TAGS,
  TITLES,
  TRADES,
} from "./vocabulary.ts";

export const PEOPLE_PER_GROUP = 500;
export const COMPANIES_PER_GROUP = 50;
export const TOUCHPOINTS_PER_GROUP = 1_000;

const DAY_MS = 86_400_000;
const MAX_AGE_DAYS = 180;

interface SampleCompany {
  name: string;
  domain: string;
  attributes: Record<string, unknown>;
}

interface SamplePerson {
  id: string;
  email: string;
  name: string;
  tags: string[];
  attributes: Record<string, unknown>;
}

interface SampleTouchpoint {
  personId: string;
  type: string;
  occurredAt: string;
  title: string;
  data: Record<string, unknown>;
  campaignId?: string;
}

export interface SampleGroup {
  companies: SampleCompany[];
  people: SamplePerson[];
  /** The first one is the first person's. */
  touchpoints: SampleTouchpoint[];
}

interface Dice {
  /** From 0 up to, but not including, 1. */
  next(): number;
  between(least: number, most: number): number;
  pick<T>(values: readonly T[]): T;
  /** Prefers what stands further up. */
  pickCommon<T>(values: readonly T[]): T;
}

/** Group `number` of a seed. Touchpoints lie in the 180 days before `nowMs` and name some of the campaigns. */
export function sampleGroup(seed: number, number: number, campaignIds: readonly string[], nowMs: number): SampleGroup {
  const dice = createDice(createHash("sha256").update(`${seed}:${number}`).digest().readUInt32BE(0));
  const companies = Array.from({ length: COMPANIES_PER_GROUP }, (_, i) =>
    sampleCompany(dice, seed, number * COMPANIES_PER_GROUP + i),
  );
  const people: SamplePerson[] = [];
  for (let i = 0; i < PEOPLE_PER_GROUP; i++) {
    const index = number * PEOPLE_PER_GROUP + i;
    const known = people.length > 0 && dice.next() < 0.02 ? dice.pick(people) : null;
    const id = stableUuid(`${seed}:person:${index}`);
    const person = known ? secondEntry(dice, known, index) : samplePerson(dice, index, companies);
    const namesake = !known && people.some(({ email }) => email === person.email);
    people.push({ ...person, id, email: namesake ? person.email.replace("@", `${index}@`) : person.email });
  }
  const [first] = people;
  const touchpoints = Array.from({ length: TOUCHPOINTS_PER_GROUP }, (_, i) => {
    const person = i === 0 && first ? first : dice.pickCommon(people);
    return sampleTouchpoint(dice, person.id, campaignIds, nowMs);
  });
  return { companies, people, touchpoints };
}

/** A UUID of a name, of version 5 in form (RFC 9562, section 5.5). */
export function stableUuid(name: string): string {
  const bytes = createHash("sha1").update(`quayside seed:${name}`).digest().subarray(0, 16);
  bytes.writeUInt8((bytes.readUInt8(6) & 0x0f) | 0x50, 6);
  bytes.writeUInt8((bytes.readUInt8(8) & 0x3f) | 0x80, 8);
  const hex = bytes.toString("hex");
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}

function sampleCompany(dice: Dice, seed: number, index: number): SampleCompany {
  const { one, two, trade, round } = companyWords(seed, index);
  const [city, country] = dice.pickCommon(CITIES);
  const stem = one === two ? one : `${one}${two.toLowerCase()}`;
  const suffix = round === 0 ? "" : `-${round + 1}`;
  return {
    name: `${stem} ${trade} ${dice.pickCommon(LEGAL_FORMS)}`,
    // A top-level domain that is reserved for examples: nobody gets mail there.
    domain: `${stem}-${trade}${suffix}.example`.toLowerCase(),
    attributes: { industry: trade, employees: Math.round(10 ** (1 + 3 * dice.next())), city, country },
  };
}

/** Every number gets other words than the others, until there are no more; then the next round begins. */
function companyWords(seed: number, index: number) {
  const [words, trades] = [COMPANY_WORDS.length, TRADES.length];
  const all = words * words * trades;
  // The factor has no divisor in common with `all`, so each number of a round comes once.
  const mixed = (index * 99_991 + seed * 7_919) % all;
  const wordAt = (position: number) => COMPANY_WORDS[position % words] ?? "";
  const [one, two] = [wordAt(mixed), wordAt(Math.floor(mixed / words))];
  return { one, two, trade: TRADES[Math.floor(mixed / (words * words))] ?? "", round: Math.floor(index / all) };
}

function samplePerson(dice: Dice, index: number, companies: readonly SampleCompany[]): Omit<SamplePerson, "id"> {
  const given = dice.pickCommon(GIVEN_NAMES);
  const surname = dice.pickCommon(SURNAMES);
  const employer = dice.next() < 0.88 ? dice.pickCommon(companies) : null;
  const [city, country] = dice.pickCommon(CITIES);
  const mailbox = `${plain(given)}.${plain(surname)}`;
  return {
    email: employer ? `${mailbox}@${employer.domain}` : `${mailbox}${index}@${dice.pickCommon(MAIL_PROVIDERS)}`,
    name: `${given} ${surname}`,
    tags: [...new Set(Array.from({ length: dice.between(0, 3) }, () => dice.pickCommon(TAGS)))],
    attributes: {
      ...(employer ? { title: dice.pick(TITLES) } : {}),
      ...(dice.next() < 0.6 ? { phone: samplePhone(dice) } : {}),
      city,
      country,
      source: dice.pickCommon(SOURCES),
    },
  };
}

/** Somebody whom the CRM knows already, entered a second time. */
function secondEntry(dice: Dice, known: SamplePerson, index: number): Omit<SamplePerson, "id"> {
  const [given = "", ...rest] = known.name.split(" ");
  const surname = rest.join(" ");
  const name = dice.next() < 0.5 ? `${given.charAt(0)}. ${surname}` : `${surname}, ${given}`;
  const same = dice.next() < 0.4;
  const email = same ? known.email : `${plain(given)}${plain(surname)}${index}@${dice.pickCommon(MAIL_PROVIDERS)}`;
  return { name, email, tags: ["import"], attributes: known.attributes };
}

function sampleTouchpoint(
  dice: Dice,
  personId: string,
  campaignIds: readonly string[],
  nowMs: number,
): SampleTouchpoint {
  const ageMs = Math.floor(dice.next() ** 2 * MAX_AGE_DAYS * DAY_MS);
  const page = dice.pickCommon(PAGES);
  const subject = dice.pick(SUBJECTS);
  const inCampaign = campaignIds.length > 0 ? { campaignId: dice.pick(campaignIds) } : {};
  const [type, title, rest] = dice.pickCommon([
    ["email.opened", `Opened '${subject}'`, { data: { subject }, ...inCampaign }],
    ["page.viewed", `Viewed ${page}`, { data: { path: page } }],
    ["email.clicked", `Clicked in '${subject}'`, { data: { subject, path: page }, ...inCampaign }],
    ["form.submitted", "Asked for a demo", { data: { path: page } }],
    ["email.replied", `Replied to '${subject}'`, { data: { subject }, ...inCampaign }],
    ["event.attended", "Attended the webinar", { data: {}, ...inCampaign }],
    ["call.held", "Talked on the phone", { data: { minutes: dice.between(3, 45) } }],
    ["meeting.held", "Met", { data: { minutes: dice.between(20, 90) } }],
    ["purchase.made", "Bought", { data: { amount: dice.between(1, 400) * 25 } }],
  ] as const);
  return { personId, type, occurredAt: new Date(nowMs - ageMs).toISOString(), title, ...rest };
}

/** Numbers that are kept free for fiction. */
function samplePhone(dice: Dice): string {
  const digits = String(dice.between(0, 999)).padStart(3, "0");
  return dice.next() < 0.5 ? `+44 20 7946 0${digits}` : `+1 212 555 01${digits.slice(1)}`;
}

/** As a mailbox spells a name. */
function plain(name: string): string {
  const folded = name.toLowerCase().replace(/ø/g, "o").replace(/ł/g, "l").replace(/ı/g, "i").normalize("NFKD");
  return folded.replace(/[^a-z]/g, "");
}

/** The same numbers for the same seed, on every machine (mulberry32). */
function createDice(seed: number): Dice {
  let state = seed >>> 0;
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  const at = <T>(values: readonly T[], position: number): T => {
    const value = values[Math.floor(position * values.length)];
    if (value === undefined) throw new RangeError("There is nothing to pick from.");
    return value;
  };
  return {
    next,
    between: (least, most) => least + Math.floor(next() * (most - least + 1)),
    pick: (values) => at(values, next()),
    pickCommon: (values) => at(values, next() ** 1.7),
  };
}
