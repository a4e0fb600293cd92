import { createHash } from "node:crypto";
import type { Database } from "@quayside/db";
import { type PersonState, STATE_COLUMNS } from "./person-state.ts";

/** Locks an organization has for ids and emails that no row holds yet. Bounded, because each is a lock of the server. */
const STRIPES = 64;
/** Merges that commit while a caller waits for their people; each is a round. */
const MAX_MERGES_MET = 5;

/**
 * Holds off other transactions that would create a person of the same id or email. Taken before any row is locked, in
 * one order, so that two callers never wait for each other.
 */
export async function lockPeopleKeys(tx: Database, organizationId: string, keys: Iterable<string>): Promise<void> {
  const stripes = [...new Set([...keys].map(stripeOf))].sort((a, b) => a - b);
  if (stripes.length === 0) return;
  await tx.sql`
    SELECT pg_advisory_xact_lock(hashtextextended(${organizationId} || ':people:' || stripe, 0))
    FROM (SELECT stripe FROM unnest(${stripes}::int[]) AS stripe ORDER BY stripe) AS ordered`;
}

function stripeOf(key: string): number {
  return createHash("sha1").update(key).digest().readUInt32BE(0) % STRIPES;
}

interface LockedPeople {
  people: PersonState[];
  /** Survivors of the given ids that were merged into another person. */
  redirects: ReadonlyMap<string, string>;
}

/** `UPDATE` is for who deletes them: it also holds off rows that would refer to them. */
type LockStrength = "NO KEY UPDATE" | "UPDATE";

/** People of these ids, or those into whom they were merged, locked against other writers until the transaction ends. */
export async function lockPeople(
  tx: Database,
  organizationId: string,
  ids: readonly string[],
  strength: LockStrength = "NO KEY UPDATE",
): Promise<LockedPeople> {
  const people = new Map<string, PersonState>();
  const redirects = new Map<string, string>();
  let wanted = ids;
  for (let round = 0; wanted.length > 0 && round < MAX_MERGES_MET; round++) {
    for (const person of await lockRows(tx, organizationId, wanted, strength)) people.set(person.id, person);
    const missing = ids.filter((id) => !people.has(id));
    for (const [id, survivor] of await findRedirects(tx, organizationId, missing)) redirects.set(id, survivor);
    // Merged while this waited for the row that is gone now; its survivor is not locked yet.
    wanted = missing.filter((id) => redirects.has(id) && !people.has(redirects.get(id) ?? ""));
  }
  return { people: [...people.values()], redirects };
}

/** One statement, so that all are locked in one order, whatever their redirects; an array, so that the key is used. */
function lockRows(tx: Database, organizationId: string, ids: readonly string[], strength: LockStrength) {
  return tx.sql<PersonState[]>`
    SELECT ${tx.sql.unsafe(STATE_COLUMNS)} FROM people
    WHERE organization_id = ${organizationId} AND id = ANY(${ids as string[]}::uuid[] || ARRAY(
      SELECT person_id FROM person_redirects
      WHERE organization_id = ${organizationId} AND id = ANY(${ids as string[]}::uuid[])))
    ORDER BY id FOR ${tx.sql.unsafe(strength)}`;
}

async function findRedirects(
  tx: Database,
  organizationId: string,
  ids: readonly string[],
): Promise<Map<string, string>> {
  if (ids.length === 0) return new Map();
  const rows = await tx.sql<{ id: string; personId: string }[]>`
    SELECT id, person_id AS "personId" FROM person_redirects
    WHERE organization_id = ${organizationId} AND id = ANY(${ids as string[]}::uuid[])`;
  return new Map(rows.map(({ id, personId }) => [id, personId]));
}
