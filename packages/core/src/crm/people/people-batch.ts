import type { Database } from "@quayside/db";
import type { Context } from "../../platform/context.ts";
import { changesBetween, newPerson, type PersonFields, withFields } from "./change-person.ts";
import { holdersOfEmails, MAX_HOLDERS } from "./email-holders.ts";
import { lockCompanies } from "./link-companies.ts";
import { lockPeople, lockPeopleKeys } from "./lock-people.ts";
import type { PersonState } from "./person-state.ts";
import { lacksCompany, type PersonWrite, writePeople } from "./write-people.ts";

interface Entry {
  before: PersonState | null;
  after: PersonState;
}

/**
 * Several people may hold one email; a caller who names only the email has to say whom. `more`: `ids` are not all.
 * `byAlias`: the person's own email is another, and this one came with a merge.
 */
export type EmailMatch =
  | { kind: "none" }
  | { kind: "one"; id: string; byAlias: boolean }
  | { kind: "several"; ids: string[]; more: boolean };

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
  /** People by the emails that merges brought them; more than MAX_HOLDERS are not loaded. */
  readonly #aliases: ReadonlyMap<string, string[]>;
  readonly #companies: ReadonlyMap<string, string>;

  private constructor(
    tx: Database,
    ctx: Context,
    organizationId: string,
    found: {
      redirects: ReadonlyMap<string, string>;
      crowded: ReadonlyMap<string, string[]>;
      aliases: ReadonlyMap<string, string[]>;
      companies: ReadonlyMap<string, string>;
    },
  ) {
    this.#tx = tx;
    this.#ctx = ctx;
    this.#organizationId = organizationId;
    this.#nowMs = ctx.clock.now().getTime();
    this.#redirects = found.redirects;
    this.#crowded = found.crowded;
    this.#aliases = found.aliases;
    this.#companies = found.companies;
  }

  /** Loads and locks the people of these ids, and those who hold one of these emails. */
  static async load(tx: Database, ctx: Context, organizationId: string, wanted: WantedPeople): Promise<PeopleBatch> {
    const ids = new Set(wanted.ids);
    const emails = new Set([...(wanted.emails ?? [])].map(emailKey));
    if (wanted.keys) await lockPeopleKeys(tx, organizationId, wanted.keys);
    const companies = await lockCompanies(tx, organizationId, [...new Set(wanted.domains ?? [])]);
    const [crowded, aliases] = [new Map<string, string[]>(), new Map<string, string[]>()];
    for (const [email, holders] of await holdersOfEmails(tx, organizationId, [...emails])) {
      if (holders.own.length > MAX_HOLDERS) {
        crowded.set(email, holders.own.slice(0, MAX_HOLDERS));
        continue;
      }
      // Also beside an own holder, who may give the email up by an earlier operation of the same call.
      aliases.set(email, holders.aliases);
      const loaded = holders.aliases.length > MAX_HOLDERS ? holders.own : [...holders.own, ...holders.aliases];
      for (const id of loaded) ids.add(id);
    }
    const { people, redirects } = await lockPeople(tx, organizationId, [...ids]);
    const batch = new PeopleBatch(tx, ctx, organizationId, { redirects, crowded, aliases, companies });
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

  /** Who holds the email; when nobody does, who got it by a merge. */
  findByEmail(email: string): EmailMatch {
    const key = emailKey(email);
    const crowd = this.#crowded.get(key);
    if (crowd) return { kind: "several", ids: crowd, more: true };
    const own = this.#idsByEmail.get(key);
    return own?.size ? matchOf(own, false) : matchOf(this.#idsByAlias(key), true);
  }

  #idsByAlias(key: string): Iterable<string> {
    const ids = this.#aliases.get(key) ?? [];
    if (ids.length > MAX_HOLDERS) return ids;
    // Somebody may have been merged or deleted while this waited for their rows.
    return new Set(ids.flatMap((id) => this.find(id)?.id ?? []));
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
      if (before === null || lacksCompany(after) || changesBetween(before, after)) writes.push({ before, after });
    }
    const written = await writePeople(this.#tx, this.#ctx, this.#organizationId, writes, this.#companies);
    for (const person of written) this.replace(person);
    return new Map([...this.#entries].map(([id, { after }]) => [id, after]));
  }
}

function matchOf(found: Iterable<string>, byAlias: boolean): EmailMatch {
  const ids = [...found].sort();
  const [first] = ids;
  if (first === undefined) return { kind: "none" };
  if (ids.length === 1) return { kind: "one", id: first, byAlias };
  return { kind: "several", ids: ids.slice(0, MAX_HOLDERS), more: ids.length > MAX_HOLDERS };
}

export function emailKey(email: string): string {
  return email.toLowerCase();
}
