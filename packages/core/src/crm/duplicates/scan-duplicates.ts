import type { ScanDuplicatesInput, ScannedDuplicates } from "@quayside/contracts";
import { type Database, withTransaction } from "@quayside/db";
import { requireCaller } from "../../platform/authorize.ts";
import type { Context } from "../../platform/context.ts";
import { openCursor, sealCursor } from "../../platform/cursors.ts";
import { type PersonRow, RECORD_COLUMNS } from "../people/person-state.ts";
import { blockMany } from "./block-candidates.ts";
import { type ComparedPair, comparePairs, type PersonPair, toPersonSummary } from "./compare-pairs.ts";
import { readPeople, withoutDismissed } from "./find-duplicates.ts";
import { probesOf } from "./probes.ts";

/** People whose candidates are in memory at once. */
const CHUNK_PEOPLE = 25;

/**
 * Likely pairs among all people: each call looks at `limit` people in the order of their ids and gives their pairs with
 * people of larger ids, so that a walk to the end gives each pair once. Pairs that were dismissed are left out. Finds
 * what `findDuplicates` finds, except for some names that are written very differently. Errors: `invalid_cursor`.
 */
export async function scanDuplicates(ctx: Context, input: ScanDuplicatesInput): Promise<ScannedDuplicates> {
  const { organization } = requireCaller(ctx, "read");
  const binding = { organizationId: organization.id, list: "duplicates", query: {} };
  const [after] = input.cursor === undefined ? [] : openCursor(ctx, binding, input.cursor);
  // In a transaction, so that it takes one connection.
  return withTransaction(ctx.db, async (tx) => {
    const people = await readPage(tx, organization.id, after, input.limit + 1);
    const page = people.slice(0, input.limit);
    const last = page.at(-1);
    const likely = await likelyPairs(tx, organization.id, page, input.minConfidence);
    return {
      pairs: likely.map(({ pair: [first, second], confidence, reasons }) => ({
        first: toPersonSummary(first),
        second: toPersonSummary(second),
        confidence,
        reasons,
      })),
      next_cursor: last && people.length > page.length ? sealCursor(ctx, binding, [last.id]) : null,
    };
  });
}

async function likelyPairs(
  tx: Database,
  organizationId: string,
  page: readonly PersonRow[],
  minConfidence: number,
): Promise<ComparedPair[]> {
  const compared: ComparedPair[] = [];
  for (let start = 0; start < page.length; start += CHUNK_PEOPLE) {
    const pairs = await pairsOf(tx, organizationId, page.slice(start, start + CHUNK_PEOPLE));
    compared.push(...(await comparePairs(tx, organizationId, pairs, minConfidence)));
  }
  const likely = await withoutDismissed(tx, organizationId, compared);
  return likely.sort((a, b) => b.confidence - a.confidence);
}

async function readPage(
  db: Database,
  organizationId: string,
  after: string | undefined,
  limit: number,
): Promise<PersonRow[]> {
  const { sql } = db;
  return sql<PersonRow[]>`
    SELECT ${sql.unsafe(RECORD_COLUMNS)} FROM people
    WHERE organization_id = ${organizationId} ${after === undefined ? sql`` : sql`AND id > ${after}`}
    ORDER BY id LIMIT ${limit}`;
}

async function pairsOf(db: Database, organizationId: string, people: readonly PersonRow[]): Promise<PersonPair[]> {
  const probes = people.map((person) => probesOf(person, { everySpelling: false }));
  const found = await blockMany(db, organizationId, probes);
  const others = await readPeople(
    db,
    organizationId,
    found.map(({ candidateId }) => candidateId),
  );
  const byId = new Map([...people, ...others].map((person) => [person.id, person]));
  return found.flatMap(({ personId, candidateId }): PersonPair[] => {
    const [person, candidate] = [byId.get(personId), byId.get(candidateId)];
    return person && candidate ? [[person, candidate]] : [];
  });
}
