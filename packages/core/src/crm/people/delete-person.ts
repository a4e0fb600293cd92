import { withTransaction } from "@quayside/db";
import { recordAudit } from "../../platform/audit.ts";
import { requireCaller } from "../../platform/authorize.ts";
import type { Context } from "../../platform/context.ts";
import { lockPeople } from "./lock-people.ts";
import { noPerson } from "./update-person.ts";

/**
 * Removes a person with everything that is known of them, for good. An id that was merged into another person means
 * that person, as everywhere: the two are one, so that nothing of either is left. Errors: `not_found`.
 */
export async function deletePerson(ctx: Context, input: { id: string }): Promise<void> {
  const { organization } = requireCaller(ctx, "write");
  await withTransaction(ctx.db, async (tx) => {
    const { people } = await lockPeople(tx, organization.id, [input.id], "UPDATE");
    const [person] = people;
    if (!person) throw noPerson(input.id);
    const merged = await tx.sql<{ id: string }[]>`
      SELECT id FROM person_redirects WHERE organization_id = ${organization.id} AND person_id = ${person.id}`;
    const ids = [person.id, ...merged.map(({ id }) => id)];
    await tx.sql`DELETE FROM people WHERE organization_id = ${organization.id} AND id = ${person.id}`;
    // What merges kept of them goes too, also of merges into those who were merged into them.
    await tx.sql`
      DELETE FROM person_merges WHERE organization_id = ${organization.id}
      AND (survivor_id = ANY(${ids}::uuid[]) OR merged_id = ANY(${ids}::uuid[]))`;
    await recordAudit(tx, ctx, { action: "person.deleted", target: `person:${person.id}` });
  });
}
