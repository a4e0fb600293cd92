import type { Database } from "@quayside/db";
import type { Context } from "../../platform/context.ts";
import { changesBetween, newPerson, type PersonFields, withFields } from "./change-person.ts";
import { lockCompanies } from "./link-companies.ts";
import { lockPeople, lockPeopleKeys } from "./lock-people.ts";
import type { PersonState } from "./person-state.ts";
import { type PersonWrite, writePeople } from "./write-people.ts";

interface Entry {
  before: PersonState | null;
  after: PersonState;
}

/** Several people may hold one email; a caller who names only the email has to say whom. `more`: `ids` are not all. */
export type EmailMatch =
  | { kind: "none" }
  | { kind: "one"; id: string }
  | { kind: "several"; ids: string[]; more: boolean };

/** Holders of an email who are loaded. Thousands may share one, and naming a few is enough to refuse the choice. */
const MAX_HOLDERS = 5;

/** Whom a call is about. */
interface WantedPeople {
  ids: Iterable<string>;
  emails?: Iterable<string>;
  /** Ids and emails that new people would take. */
  keys?: Iterable<string>;
  /** Of the companies that people may be linked to. */
  domains?: Iterable<string>;
}

/**
 * People who are changed together: loaded and locked at once, changed in memory in the order of the operations, and
 * written at once. Use inside a transaction.
 */
export class PeopleBatch {
  readonly #tx: Database;
  readonly #ctx: Context;
  readonly #organizationId: string;
  readonly #nowMs: number;
  readonly #entries = new Map<string, Entry>();
  readonly #redirects: ReadonlyMap<string, string>;
  readonly #idsByEmail = new Map<string, Set<string>>();
  /** Emails of more people than are loaded, with some of their ids. They stay ambiguous for the whole call. */
  readonly #crowded: ReadonlyMap<string, string[]>;
  readonly #companies: ReadonlyMap<string, string>;

  private constructor(
    tx: Database,
    ctx: Context,
    organizationId: string,
    found: {
      redirects: ReadonlyMap<string, string>;
      crowded: ReadonlyMap<string, string[]>;
      companies: ReadonlyMap<string, string>;
    },
  ) {
    this.#tx = tx;
    this.#ctx = ctx;
    this.#organizationId = organizationId;
    this.#nowMs = ctx.clock.now().getTime();
    this.#redirects = found.redirects;
    this.#crowded = found.crowded;
    this.#companies = found.companies;
  }

  /** Loads and locks the people of these ids, and those who hold one of these emails. */
  static async load(tx: Database, ctx: Context, organizationId: string, wanted: WantedPeople): Promise<PeopleBatch> {
    const ids = new Set(wanted.ids);
    const emails = new Set([...(wanted.emails ?? [])].map(emailKey));
    if (wanted.keys) await lockPeopleKeys(tx, organizationId, wanted.keys);
    const companies = await lockCompanies(tx, organizationId, [...new Set(wanted.domains ?? [])]);
    const crowded = new Map<string, string[]>();
    for (const [email, holders] of await holdersOfEmails(tx, organizationId, [...emails])) {
      if (holders.length > MAX_HOLDERS) crowded.set(email, holders.slice(0, MAX_HOLDERS));
      else for (const id of holders) ids.add(id);
    }
    const { people, redirects } = await lockPeople(tx, organizationId, [...ids]);
    const batch = new PeopleBatch(tx, ctx, organizationId, { redirects, crowded, companies });
    for (const person of people) batch.#add(person);
    return batch;
  }

  #add(person: PersonState): void {
    this.#entries.set(person.id, { before: person, after: person });
    if (person.email !== null) this.#indexEmail(person.email, person.id);
  }

  #indexEmail(email: string, id: string): void {
    const key = emailKey(email);
    const ids = this.#idsByEmail.get(key);
    if (ids) ids.add(id);
    else this.#idsByEmail.set(key, new Set([id]));
  }

  /** The person of an id, or into whom that one was merged. */
  find(id: string): PersonState | null {
    return this.#entries.get(this.#redirects.get(id) ?? id)?.after ?? null;
  }

  findByEmail(email: string): EmailMatch {
    const crowd = this.#crowded.get(emailKey(email));
    if (crowd) return { kind: "several", ids: crowd, more: true };
    const ids = [...(this.#idsByEmail.get(emailKey(email)) ?? [])].sort();
    const [first] = ids;
    if (first === undefined) return { kind: "none" };
    if (ids.length === 1) return { kind: "one", id: first };
    return { kind: "several", ids: ids.slice(0, MAX_HOLDERS), more: ids.length > MAX_HOLDERS };
  }

  /** Creates the person when the id is new. Throws PersonFault, and then nothing of it is kept. */
  upsert(id: string, fields: PersonFields): { person: PersonState; created: boolean } {
    const present = this.find(id);
    const person = withFields(present ?? newPerson(id, this.#nowMs), fields);
    this.replace(person);
    return { person, created: present === null };
  }

  replace(person: PersonState): void {
    const entry = this.#entries.get(person.id);
    const email = entry?.after.email ?? null;
    if (email !== person.email) {
      if (email !== null) this.#idsByEmail.get(emailKey(email))?.delete(person.id);
      if (person.email !== null) this.#indexEmail(person.email, person.id);
    }
    this.#entries.set(person.id, { before: entry?.before ?? null, after: person });
  }

  /** Writes what changed: rows, companies, scores, timeline and events. Returns the people as they are now. */
  async store(): Promise<Map<string, PersonState>> {
    const writes: PersonWrite[] = [];
    for (const { before, after } of this.#entries.values()) {
      if (before === after) continue;
      if (before === null || changesBetween(before, after)) writes.push({ before, after });
    }
    const written = await writePeople(this.#tx, this.#ctx, this.#organizationId, writes, this.#companies);
    for (const person of written) this.replace(person);
    return new Map([...this.#entries].map(([id, { after }]) => [id, after]));
  }
}

export function emailKey(email: string): string {
  return email.toLowerCase();
}

/** Ids by email, in order; one more than are loaded tells that there are many. */
async function holdersOfEmails(
  tx: Database,
  organizationId: string,
  emails: readonly string[],
): Promise<Map<string, string[]>> {
  if (emails.length === 0) return new Map();
  const rows = await tx.sql<{ email: string; id: string }[]>`
    SELECT wanted.email, holder.id FROM unnest(${emails as string[]}::text[]) AS wanted (email),
      LATERAL (SELECT id FROM people
        WHERE organization_id = ${organizationId} AND email IS NOT NULL AND lower(email) = wanted.email
        LIMIT ${MAX_HOLDERS + 1}) AS holder
    ORDER BY holder.id`;
  const holders = new Map<string, string[]>();
  for (const { email, id } of rows) {
    const ids = holders.get(email);
    if (ids) ids.push(id);
    else holders.set(email, [id]);
  }
  return holders;
}
