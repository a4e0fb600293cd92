import type { MergeCandidate } from "@quayside/contracts";
import { requireCaller } from "../../platform/authorize.ts";
import type { Context } from "../../platform/context.ts";
import { type PersonRow, RECORD_COLUMNS } from "../people/person-state.ts";
import { noPerson } from "../people/update-person.ts";
import { comparePairs } from "./compare-pairs.ts";

/**
 * How likely each of up to 20 people is the same person as the one of `id`, the likeliest first. An id that was merged
 * into another person means that person. Unknown ids and the person's own are left out. Errors: `not_found`.
 */
export async function findMergeCandidates(
  ctx: Context,
  input: { id: string; candidateIds: string[] },
): Promise<MergeCandidate[]> {
  const { organization } = requireCaller(ctx, "write");
  const asked = [...new Set([input.id, ...input.candidateIds])];
  const rows = await ctx.db.sql<(PersonRow & { asked: string })[]>`
    SELECT asked, ${ctx.db.sql.unsafe(RECORD_COLUMNS)}
    FROM (SELECT a.id AS asked, coalesce(r.person_id, a.id) AS person_id
      FROM unnest(${asked}::uuid[]) AS a (id)
      LEFT JOIN person_redirects AS r ON r.organization_id = ${organization.id} AND r.id = a.id) AS resolved
    JOIN people ON organization_id = ${organization.id} AND id = person_id`;
  const person = rows.find((row) => row.asked === input.id);
  if (!person) throw noPerson(input.id);
  const candidates = new Map(rows.map((row) => [row.id, row]));
  candidates.delete(person.id);
  const pairs = [...candidates.values()].map((candidate) => [person, candidate] as const);
  const compared = await comparePairs(ctx.db, organization.id, pairs, 0);
  return compared.map(({ pair: [, { id }], confidence, reasons }) => ({ personId: id, confidence, reasons }));
}
