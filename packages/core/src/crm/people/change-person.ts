import type { Attributes } from "@quayside/contracts";
import { domainOfEmail, normalizeDomain } from "./mail-domains.ts";
import type { PersonState } from "./person-state.ts";

const MAX_ATTRIBUTES = 200;
const MAX_ATTRIBUTE_CHARACTERS = 65_536;

/** What a caller may set. */
export interface PersonFields {
  email?: string | undefined;
  domain?: string | undefined;
  name?: string | undefined;
  tags?: string[] | undefined;
  attributes?: Attributes | undefined;
}

/** A change that cannot be made; the message is the caller's. */
export class PersonFault extends Error {
  readonly field: string;
  constructor(field: string, message: string) {
    super(message);
    this.field = field;
  }
}

export function newPerson(id: string, nowMs: number): PersonState {
  return {
    id,
    email: null,
    domain: null,
    name: null,
    tags: [],
    attributes: {},
    companyId: null,
    score: 0,
    createdAt: nowMs,
    updatedAt: nowMs,
    engagement: 0,
    engagementAt: null,
    engagementTotal: 0,
  };
}

/** The person with the fields set: tags replaced, attributes merged (null removes a key), the domain kept in step. */
export function withFields(person: PersonState, fields: PersonFields): PersonState {
  const email = fields.email ?? person.email;
  return {
    ...person,
    email,
    domain: domainAfter(person, fields, email),
    name: fields.name ?? person.name,
    tags: fields.tags ? [...new Set(fields.tags)] : person.tags,
    attributes: fields.attributes ? mergeAttributes(person.attributes, fields.attributes) : person.attributes,
  };
}

/** A given domain counts; else one that came from the email follows the email. */
function domainAfter(person: PersonState, fields: PersonFields, email: string | null): string | null {
  if (fields.domain !== undefined) {
    const domain = normalizeDomain(fields.domain);
    if (domain === null) throw new PersonFault("domain", `'${fields.domain}' is no domain name.`);
    return domain;
  }
  if (email === person.email || email === null) return person.domain;
  const derived = person.email === null ? null : domainOfEmail(person.email);
  return person.domain === derived ? domainOfEmail(email) : person.domain;
}

export function mergeAttributes(before: Attributes, given: Attributes): Attributes {
  const merged = { ...before, ...given };
  for (const [key, value] of Object.entries(given)) if (value === null) delete merged[key];
  if (Object.keys(merged).length > MAX_ATTRIBUTES) {
    throw new PersonFault("attributes", `There may be at most ${MAX_ATTRIBUTES} attributes.`);
  }
  if (JSON.stringify(merged).length > MAX_ATTRIBUTE_CHARACTERS) {
    throw new PersonFault("attributes", `Attributes may have at most ${MAX_ATTRIBUTE_CHARACTERS} characters of JSON.`);
  }
  return merged;
}

export interface PersonChanges {
  /** Fields other than tags that have another value now. */
  fields: string[];
  tagged: string[];
  untagged: string[];
}

/** What differs; null when nothing does. */
export function changesBetween(before: PersonState, after: PersonState): PersonChanges | null {
  const fields = (["email", "domain", "name", "companyId"] as const).filter(
    (name) => before[name] !== after[name],
  ) as string[];
  if (!sameJson(before.attributes, after.attributes)) fields.push("attributes");
  const [had, has] = [new Set(before.tags), new Set(after.tags)];
  const tagged = after.tags.filter((tag) => !had.has(tag));
  const untagged = before.tags.filter((tag) => !has.has(tag));
  const reordered = tagged.length + untagged.length === 0 && !sameJson(before.tags, after.tags);
  if (reordered) fields.push("tags");
  return fields.length + tagged.length + untagged.length === 0 ? null : { fields, tagged, untagged };
}

/** PostgreSQL keeps JSON with its keys in an order of its own. */
function sameJson(one: unknown, other: unknown): boolean {
  if (one === other) return true;
  if (typeof one !== "object" || typeof other !== "object" || one === null || other === null) return false;
  if (Array.isArray(one) !== Array.isArray(other)) return false;
  const [keys, otherKeys] = [Object.keys(one), Object.keys(other)];
  if (keys.length !== otherKeys.length) return false;
  return keys.every(
    (key) =>
      Object.hasOwn(other, key) &&
      sameJson((one as Record<string, unknown>)[key], (other as Record<string, unknown>)[key]),
  );
}
