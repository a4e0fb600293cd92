import { kindOfAttribute } from "./attribute-kinds.ts";
import { type BirthDate, prepareBirthDate } from "./birth-dates.ts";
import { textOf } from "./fold-text.ts";
import { type Phone, preparePhone } from "./phones.ts";
import { type PreparedAttribute, prepareAttribute } from "./prepare-attribute.ts";
import { type PreparedEmail, prepareDomain, prepareEmail } from "./prepare-email.ts";
import { type PreparedName, prepareName } from "./prepare-name.ts";
import type { Word } from "./text-distance.ts";

export interface ComparablePerson {
  readonly name: string | null;
  readonly email: string | null;
  readonly domain: string | null;
  /** Untrusted: objects and arrays among the values are ignored. */
  readonly attributes: Readonly<Record<string, unknown>>;
}

/** A person made ready for many comparisons. A field that is missing or unreadable is empty. */
export interface PreparedPerson {
  readonly name: PreparedName | undefined;
  readonly emails: readonly PreparedEmail[];
  /** The company's domain: as stored, else that of the email address. */
  readonly domain: Word | undefined;
  readonly birthDate: BirthDate | undefined;
  readonly phones: readonly Phone[];
  /** In the order of their keys. */
  readonly attributes: readonly PreparedAttribute[];
  /** Equal only for people who compare alike; puts two people in an order of their own. */
  readonly orderKey: string;
}

const MAX_ATTRIBUTES = 50;
const MAX_KEY_LENGTH = 100;
const MAX_EMAILS = 4;
const MAX_PHONES = 5;

interface Gathered {
  emails: PreparedEmail[];
  birthDate: BirthDate | undefined;
  phones: Phone[];
  attributes: PreparedAttribute[];
}

export function preparePerson(person: ComparablePerson): PreparedPerson {
  const email = prepareEmail(person.email);
  const gathered: Gathered = {
    emails: email === undefined ? [] : [email],
    birthDate: undefined,
    phones: [],
    attributes: [],
  };
  for (const [key, text] of readAttributes(person.attributes)) addAttribute(gathered, key, text);
  const prepared = {
    name: prepareName(person.name),
    domain: prepareDomain(person.domain) ?? (email?.isPublic === false ? email.domain : undefined),
    ...gathered,
  };
  return { ...prepared, orderKey: orderKeyOf(prepared) };
}

/** Keys in code unit order, so that which attributes are compared does not depend on the order they were written in. */
function readAttributes(attributes: Readonly<Record<string, unknown>>): [string, string][] {
  const found: [string, string][] = [];
  for (const key of Object.keys(attributes).sort()) {
    const text = textOf(attributes[key]);
    if (text === "") continue;
    found.push([key.slice(0, MAX_KEY_LENGTH), text]);
    if (found.length === MAX_ATTRIBUTES) break;
  }
  return found;
}

function addAttribute(gathered: Gathered, key: string, text: string): void {
  const kind = kindOfAttribute(key);
  if (kind === "email") {
    const email = prepareEmail(text);
    if (email !== undefined && gathered.emails.length < MAX_EMAILS) gathered.emails.push(email);
  } else if (kind === "birthDate") {
    gathered.birthDate ??= prepareBirthDate(text);
  } else if (kind === "phone" || kind === "mobile") {
    const phone = preparePhone(text, kind === "mobile");
    if (phone !== undefined && gathered.phones.length < MAX_PHONES) gathered.phones.push(phone);
  } else {
    const readable = kind !== "age" || /^[0-9]{1,3}$/.test(text);
    const attribute = prepareAttribute(key, readable ? kind : "other", text);
    if (attribute !== undefined) gathered.attributes.push(attribute);
  }
}

function orderKeyOf({ name, emails, domain, birthDate, phones, attributes }: Omit<PreparedPerson, "orderKey">): string {
  return JSON.stringify([
    [name?.whole.text, name?.shown, name?.parts.map(({ text }) => text)],
    emails.map(({ address, shown }) => [address, shown]),
    domain?.text,
    birthDate === undefined ? null : [birthDate.digits.text, birthDate.isAmbiguous, birthDate.shown],
    phones.map(({ number, isMobile, shown }) => [number.text, isMobile, shown]),
    attributes.map(({ key, word, numbers, shown }) => [key, word.text, numbers, shown]),
  ]);
}
