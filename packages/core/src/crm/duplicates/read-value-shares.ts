import type { Database } from "@quayside/db";
import type { PersonRow } from "../people/person-state.ts";
import { type AttributeKind, kindOfAttribute } from "./attribute-kinds.ts";
import { ENOUGH_PEOPLE, isIdentifying, OWN_RECORDS, type ValueShares, valuesToCount } from "./count-shares.ts";
import { prepareEmail } from "./prepare-email.ts";
import { preparePerson } from "./prepare-person.ts";

/** So many people tell how common a name is. An organization with no more of them is counted as a whole. */
const SAMPLED_PEOPLE = 1_024;
/** Stretches of the sample, spread over all ids, so that it is not one import's people with A. */
const STRETCHES = 16;
const MAX_KEYS = 20;
const MAX_VALUE_LENGTH = 200;
/** An email that this many people have is as common as one that more have. */
const MAX_COUNTED = 200;
/** Enough to tell the share of an email that several people have; counting a million would take too long. */
const MAX_PEOPLE_COUNTED = 50_000;
const LAST_ID = 2n ** 128n - 1n;

/** Values to ask about: field and normalised value, joined by `valueKey`. */
export type WantedValues = ReadonlySet<string>;

export function valueKey(field: string, value: string): string {
  return `${field}\n${value}`;
}

/**
 * How common these values are in the organization, by a sample of at most 1,024 of its people and, for emails, the
 * email index: the time does not grow with the organization. `people` are those who are compared; in a sample they
 * would make their own values look common.
 */
export async function readValueShares(
  db: Database,
  organizationId: string,
  wanted: WantedValues,
  people: readonly PersonRow[],
): Promise<ValueShares | undefined> {
  if (wanted.size === 0) return undefined;
  const fields = new Set([...wanted].map((key) => key.slice(0, key.indexOf("\n"))));
  const emails = fields.has("email") ? await shareEmails(db, organizationId, wanted, people) : new Map();
  fields.delete("email");
  if (fields.size === 0) return (field, value) => (field === "email" ? emails.get(value) : undefined);
  const sample = await samplePeople(db, organizationId, people, keysOfFields(people, fields));
  const counts = countWanted(wanted, sample.people);
  const total = sample.people.length;
  return (field, value) => {
    if (field === "email") return emails.get(value);
    const key = valueKey(field, value);
    if (!wanted.has(key)) return undefined;
    const others = (counts.get(key) ?? 0) - (sample.isWhole ? OWN_RECORDS : 0);
    if (others > 0) return others / total;
    return total < ENOUGH_PEOPLE || isIdentifying(field) ? undefined : 0.5 / total;
  };
}

/** Shares of the emails that more than a few records have; of others nothing is said. */
async function shareEmails(
  db: Database,
  organizationId: string,
  wanted: WantedValues,
  people: readonly PersonRow[],
): Promise<Map<string, number>> {
  const emails = [...new Set(people.flatMap(({ email }) => email?.toLowerCase() ?? []))].filter((email) => {
    const address = prepareEmail(email)?.address;
    return address !== undefined && wanted.has(valueKey("email", address));
  });
  if (emails.length === 0) return new Map();
  const rows = await db.sql<{ email: string; count: number }[]>`
    SELECT e.email, (SELECT count(*)::int FROM (SELECT 1 FROM people WHERE organization_id = ${organizationId}
      AND email IS NOT NULL AND lower(email) = e.email LIMIT ${MAX_COUNTED}) AS counted) AS count
    FROM unnest(${emails}::text[]) AS e (email)`;
  const counts = new Map<string, number>();
  for (const { email, count } of rows) {
    const address = prepareEmail(email)?.address ?? "";
    counts.set(address, (counts.get(address) ?? 0) + count);
  }
  const common = [...counts].filter(([, count]) => count > OWN_RECORDS);
  if (common.length === 0) return new Map();
  const [row] = await db.sql<{ total: number }[]>`
    SELECT count(*)::int AS total FROM (SELECT 1 FROM people WHERE organization_id = ${organizationId}
      LIMIT ${MAX_PEOPLE_COUNTED}) AS counted`;
  return new Map(common.map(([address, count]) => [address, (count - OWN_RECORDS) / (row?.total ?? 1)]));
}

const FIELD_OF_KIND: Partial<Record<AttributeKind, string>> = {
  birthDate: "birth_date",
  phone: "phone",
  mobile: "phone",
};

/** Under which keys these people have the fields, since only those attributes need to be read. */
function keysOfFields(people: readonly PersonRow[], fields: ReadonlySet<string>): string[] {
  const keys = new Set<string>();
  for (const { attributes } of people) {
    for (const key of Object.keys(attributes)) {
      if (keys.size < MAX_KEYS && fields.has(FIELD_OF_KIND[kindOfAttribute(key)] ?? key)) keys.add(key);
    }
  }
  return [...keys];
}

interface SampledPerson {
  name: string | null;
  attributes: Record<string, string> | null;
}

/** The first people of several stretches of ids; all of them where they are few. */
async function samplePeople(
  db: Database,
  organizationId: string,
  compared: readonly PersonRow[],
  keys: readonly string[],
): Promise<{ people: SampledPerson[]; isWhole: boolean }> {
  const [bounds] = await db.sql<{ first: string; last: string; count: number }[]>`
    SELECT (SELECT id FROM people WHERE organization_id = ${organizationId} ORDER BY id LIMIT 1) AS first,
      (SELECT id FROM people WHERE organization_id = ${organizationId} ORDER BY id DESC LIMIT 1) AS last,
      (SELECT count(*)::int FROM (SELECT 1 FROM people WHERE organization_id = ${organizationId}
        LIMIT ${SAMPLED_PEOPLE + 1}) AS counted) AS count`;
  if (!bounds || bounds.count === 0) return { people: [], isWhole: true };
  const isWhole = bounds.count <= SAMPLED_PEOPLE;
  const starts = isWhole ? [bounds.first] : spread(bounds.first, bounds.last);
  const length = isWhole ? SAMPLED_PEOPLE : SAMPLED_PEOPLE / STRETCHES;
  const left = isWhole ? [] : compared.map(({ id }) => id);
  const people = await db.sql<SampledPerson[]>`
    SELECT DISTINCT ON (p.id) p.name, (SELECT jsonb_object_agg(key, left(p.attributes ->> key, ${MAX_VALUE_LENGTH}))
      FROM unnest(${keys as string[]}::text[]) AS key WHERE p.attributes ? key) AS attributes
    FROM unnest(${starts}::uuid[]) AS start CROSS JOIN LATERAL (
      SELECT id, name, attributes FROM people WHERE organization_id = ${organizationId} AND id >= start
      ORDER BY id LIMIT ${length}) AS p
    WHERE p.id <> ALL(${left}::uuid[])`;
  return { people, isWhole };
}

/** Evenly spaced from the first id on, the same each time, so that the same question has the same answer. */
function spread(first: string, last: string): string[] {
  const [from, to] = [numberOf(first), numberOf(last)];
  const step = (to - from) / BigInt(STRETCHES);
  return Array.from({ length: STRETCHES }, (_, index) => idOf(from + step * BigInt(index)));
}

function numberOf(id: string): bigint {
  return BigInt(`0x${id.replaceAll("-", "")}`);
}

function idOf(number: bigint): string {
  const hex = (number > LAST_ID ? LAST_ID : number).toString(16).padStart(32, "0");
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}

function countWanted(wanted: WantedValues, people: readonly SampledPerson[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const { name, attributes } of people) {
    const prepared = preparePerson({ name, email: null, domain: null, attributes: attributes ?? {} });
    for (const [field, value] of valuesToCount(prepared)) {
      const key = valueKey(field, value);
      if (wanted.has(key)) counts.set(key, (counts.get(key) ?? 0) + 1);
    }
  }
  return counts;
}
