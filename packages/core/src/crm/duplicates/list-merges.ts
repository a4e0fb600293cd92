import type { PersonMerge } from "@quayside/contracts";
import { requireCaller } from "../../platform/authorize.ts";
import type { Context } from "../../platform/context.ts";
import { findPerson } from "../people/read-person.ts";
import { noPerson } from "../people/update-person.ts";

type MergeRow = Omit<PersonMerge, "createdAt" | "undoneAt"> & { createdAt: number; undoneAt: number | null };

const iso = (ms: number) => new Date(ms).toISOString();

/** What was merged into a person, and into those who were merged into it, the newest first. Errors: `not_found`. */
export async function listMerges(ctx: Context, input: { personId: string; limit: number }): Promise<PersonMerge[]> {
  const { organization } = requireCaller(ctx, "read");
  const person = await findPerson(ctx.db, organization.id, input.personId);
  if (!person) throw noPerson(input.personId);
  const rows = await ctx.db.sql<MergeRow[]>`
    SELECT id, survivor_id AS "survivorId", merged_id AS "mergedId", merged_before ->> 'name' AS "mergedName",
      merged_before ->> 'email' AS "mergedEmail", actor,
      (extract(epoch FROM created_at) * 1000)::float8 AS "createdAt",
      (extract(epoch FROM undone_at) * 1000)::float8 AS "undoneAt"
    FROM person_merges
    WHERE organization_id = ${organization.id} AND survivor_id IN (
      SELECT ${person.id}::uuid
      UNION SELECT id FROM person_redirects WHERE organization_id = ${organization.id} AND person_id = ${person.id})
    ORDER BY created_at DESC, id LIMIT ${input.limit}`;
  return rows.map(({ createdAt, undoneAt, ...merge }) => ({
    ...merge,
    createdAt: iso(createdAt),
    undoneAt: undoneAt === null ? null : iso(undoneAt),
  }));
}
