import type { Database } from "@quayside/db";

/** Emails of the two people of a merge `m` that the survivor did not keep, as a table `lost`. */
const LOST_EMAILS = `unnest(ARRAY[lower(m.survivor_before ->> 'email'), lower(m.merged_before ->> 'email')])
  AS lost (email)`;
const IS_LOST = "lost.email <> lower(m.survivor_after ->> 'email')";

interface MergeOfTwo {
  mergeId: string;
  survivorId: string;
  mergedId: string;
}

/** The survivor is found by the emails that were lost, and by those that the merged person was found by. */
export async function moveAliases(tx: Database, organizationId: string, merge: MergeOfTwo): Promise<void> {
  // What an earlier merge brought already stays that merge's, because it outlasts the undoing of this one.
  await tx.sql`
    INSERT INTO person_email_aliases (organization_id, email, person_id, merge_id)
    SELECT ${organizationId}, brought.email, ${merge.survivorId}, ${merge.mergeId}::uuid FROM (
      SELECT email FROM person_email_aliases
      WHERE organization_id = ${organizationId} AND person_id = ${merge.mergedId}
      UNION SELECT lost.email FROM person_merges AS m, ${tx.sql.unsafe(LOST_EMAILS)}
      WHERE m.organization_id = ${organizationId} AND m.id = ${merge.mergeId} AND ${tx.sql.unsafe(IS_LOST)}) AS brought
    ON CONFLICT DO NOTHING`;
}

/** Emails that will no longer find the survivor when the merge is undone. They cannot change while it stands. */
export async function aliasesOfMerge(tx: Database, organizationId: string, merge: MergeOfTwo): Promise<string[]> {
  const rows = await tx.sql<{ email: string }[]>`
    SELECT email FROM person_email_aliases
    WHERE organization_id = ${organizationId} AND person_id = ${merge.survivorId} AND merge_id = ${merge.mergeId}`;
  return rows.map(({ email }) => email);
}

/** The survivor loses what this merge brought; the merged person, who must be there again, has its aliases as before. */
export async function returnAliases(tx: Database, organizationId: string, merge: MergeOfTwo): Promise<void> {
  await tx.sql`
    DELETE FROM person_email_aliases
    WHERE organization_id = ${organizationId} AND person_id = ${merge.survivorId} AND merge_id = ${merge.mergeId}`;
  // From the merges that stand: the survivor may have had the same alias itself, so that no row of it was moved.
  await tx.sql`
    WITH RECURSIVE standing (id, merged_id, direct_id, direct_at) AS (
      SELECT id, merged_id, id, created_at FROM person_merges
      WHERE organization_id = ${organizationId} AND survivor_id = ${merge.mergedId} AND undone_at IS NULL
      UNION SELECT m.id, m.merged_id, standing.direct_id, standing.direct_at
      FROM person_merges AS m JOIN standing ON m.survivor_id = standing.merged_id
      WHERE m.organization_id = ${organizationId} AND m.undone_at IS NULL)
    INSERT INTO person_email_aliases (organization_id, email, person_id, merge_id)
    SELECT DISTINCT ON (lost.email) ${organizationId}::uuid, lost.email, ${merge.mergedId}::uuid, standing.direct_id
    FROM standing JOIN person_merges AS m ON m.organization_id = ${organizationId} AND m.id = standing.id,
      ${tx.sql.unsafe(LOST_EMAILS)}
    WHERE ${tx.sql.unsafe(IS_LOST)} ORDER BY lost.email, standing.direct_at`;
}
