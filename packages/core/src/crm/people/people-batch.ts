import type { Database } from "@quayside/db";
import type { Context } from "../../platform/context.ts";
import { changesBetween, newPerson, type PersonFields, withFields } from "./change-person.ts";
import { findRedirects, lockPeople, lockPeopleKeys } from "./lock-people.ts";
import type { PersonState } from "./person-state.ts";
import { type PersonWrite, writePeople } from "./write-people.ts";

interface Entry {
  before: PersonState | null;
  after: PersonState;
}

/** Several people may hold one email; a caller who names only the email has to say whom. */
export type EmailMatch = { kind: "none" } | { kind: "one"; id: string } | { kind: "several"; ids: string[] };

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

  private constructor(tx: Database, ctx: Context, organizationId: string, redirects: ReadonlyMap<string, string>) {
    this.#tx = tx;
    this.#ctx = ctx;
    this.#organizationId = organizationId;
    this.#nowMs = ctx.clock.now().getTime();
    this.#redirects = redirects;
  }

  /** Loads the people of these ids, and those who hold one of these emails. `keys`: what new people would take. */
  static async load(
    tx: Database,
    ctx: Context,
    organizationId: string,
    wanted: { ids: Iterable<string>; emails?: Iterable<string>; keys?: Iterable<string> },
  ): Promise<PeopleBatch> {
    const ids = new Set(wanted.ids);
    const emails = new Set([...(wanted.emails ?? [])].map(emailKey));
    if (wanted.keys) await lockPeopleKeys(tx, organizationId, wanted.keys);
    const redirects = await findRedirects(tx, organizationId, [...ids]);
    for (const survivor of redirects.values()) ids.add(survivor);
    for (const id of await idsOfEmails(tx, organizationId, [...emails])) ids.add(id);
    const batch = new PeopleBatch(tx, ctx, organizationId, redirects);
    for (const person of await lockPeople(tx, organizationId, [...ids])) batch.#add(person);
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
    const ids = [...(this.#idsByEmail.get(emailKey(email)) ?? [])].sort();
    const [first] = ids;
    if (first === undefined) return { kind: "none" };
    return ids.length === 1 ? { kind: "one", id: first } : { kind: "several", ids };
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
    const written = await writePeople(this.#tx, this.#ctx, this.#organizationId, writes);
    for (const person of written) this.replace(person);
    return new Map([...this.#entries].map(([id, { after }]) => [id, after]));
  }
}

export function emailKey(email: string): string {
  return email.toLowerCase();
}

async function idsOfEmails(tx: Database, organizationId: string, emails: readonly string[]): Promise<string[]> {
  if (emails.length === 0) return [];
  const rows = await tx.sql<{ id: string }[]>`
    SELECT id FROM people
    WHERE organization_id = ${organizationId} AND email IS NOT NULL AND lower(email) = ANY(${emails as string[]}::text[])`;
  return rows.map(({ id }) => id);
}
