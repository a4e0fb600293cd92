import { createHash } from "node:crypto";
import type { Database } from "@quayside/db";
import { type PersonState, STATE_COLUMNS } from "./person-state.ts";

/** Locks an organization has for ids and emails that no row holds yet. Bounded, because each is a lock of the server. */
const STRIPES = 64;

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

/** Rows of these people, locked against other writers until the transaction ends. */
export async function lockPeople(tx: Database, organizationId: string, ids: readonly string[]): Promise<PersonState[]> {
  if (ids.length === 0) return [];
  return tx.sql<PersonState[]>`
    SELECT ${tx.sql.unsafe(STATE_COLUMNS)} FROM people
    WHERE organization_id = ${organizationId} AND id = ANY(${ids as string[]}::uuid[])
    ORDER BY id FOR NO KEY UPDATE`;
}

/** Survivors of the given ids that were merged into another person. */
export async function findRedirects(
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
