import type { Duplicate, FindDuplicatesInput } from "@quayside/contracts";
import { type Database, withTransaction } from "@quayside/db";
import { requireCaller } from "../../platform/authorize.ts";
import type { Context } from "../../platform/context.ts";
import { type PersonRow, RECORD_COLUMNS } from "../people/person-state.ts";
import { findPerson } from "../people/read-person.ts";
import { noPerson } from "../people/update-person.ts";
import { blockOne } from "./block-candidates.ts";
import { type ComparedPair, comparePairs, toPersonSummary } from "./compare-pairs.ts";
import { probesOf } from "./probes.ts";

/**
 * People who are likely the same as this one, the likeliest first; pairs that were dismissed are left out. A few
 * hundred people are compared at most, found by the indexes: who shares nothing but a very common name may be missed.
 * Errors: `not_found`.
 */
export async function findDuplicates(ctx: Context, input: FindDuplicatesInput): Promise<Duplicate[]> {
  const { organization } = requireCaller(ctx, "read");
  return withTransaction(ctx.db, async (tx) => {
    const person = await findPerson(tx, organization.id, input.personId);
    if (!person) throw noPerson(input.personId);
    const found = await blockOne(tx, organization.id, probesOf(person, { everySpelling: true }));
    const people = await readPeople(
      tx,
      organization.id,
      found.map(({ candidateId }) => candidateId),
    );
    const pairs = people.map((candidate) => [person, candidate] as const);
    const compared = await comparePairs(tx, organization.id, pairs, input.minConfidence);
    const likely = await withoutDismissed(tx, organization.id, compared);
    return likely.slice(0, input.limit).map(({ pair: [, candidate], confidence, reasons }) => ({
      personId: candidate.id,
      person: toPersonSummary(candidate),
      confidence,
      reasons,
    }));
  });
}

export async function readPeople(db: Database, organizationId: string, ids: Iterable<string>): Promise<PersonRow[]> {
  return db.sql<PersonRow[]>`
    SELECT ${db.sql.unsafe(RECORD_COLUMNS)} FROM people
    WHERE organization_id = ${organizationId} AND id = ANY(${[...new Set(ids)]}::uuid[])`;
}

/** The pairs that nobody found to be two people. */
export async function withoutDismissed(
  db: Database,
  organizationId: string,
  compared: readonly ComparedPair[],
): Promise<ComparedPair[]> {
  if (compared.length === 0) return [];
  const sorted = compared.map(({ pair: [one, other] }) => [one.id, other.id].sort());
  const rows = await db.sql<{ key: string }[]>`
    SELECT first_id || ' ' || second_id AS key
    FROM unnest(${sorted.map(([first = ""]) => first)}::uuid[], ${sorted.map(([, second = ""]) => second)}::uuid[])
      AS likely (one, other)
    JOIN duplicate_dismissals ON organization_id = ${organizationId} AND first_id = one AND second_id = other`;
  const dismissed = new Set(rows.map(({ key }) => key));
  return compared.filter((_, index) => !dismissed.has(sorted[index]?.join(" ") ?? ""));
}
