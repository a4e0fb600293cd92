import { withTransaction } from "@quayside/db";
import { recordAudit } from "../../platform/audit.ts";
import { requireCaller } from "../../platform/authorize.ts";
import type { Context } from "../../platform/context.ts";
import { noPerson } from "./update-person.ts";

/** Removes a person with everything that is known of them, for good. Errors: `not_found`. */
export async function deletePerson(ctx: Context, input: { id: string }): Promise<void> {
  const { organization } = requireCaller(ctx, "write");
  await withTransaction(ctx.db, async (tx) => {
    const [row] = await tx.sql`
      SELECT id FROM people WHERE organization_id = ${organization.id} AND id = ${input.id} FOR UPDATE`;
    if (!row) throw noPerson(input.id);
    const merged = await tx.sql<{ id: string }[]>`
      SELECT id FROM person_redirects WHERE organization_id = ${organization.id} AND person_id = ${input.id}`;
    const ids = [input.id, ...merged.map(({ id }) => id)];
    await tx.sql`DELETE FROM people WHERE organization_id = ${organization.id} AND id = ${input.id}`;
    // What merges kept of them goes too, also of merges into those who were merged into them.
    await tx.sql`
      DELETE FROM person_merges WHERE organization_id = ${organization.id}
      AND (survivor_id = ANY(${ids}::uuid[]) OR merged_id = ANY(${ids}::uuid[]))`;
    await recordAudit(tx, ctx, { action: "person.deleted", target: `person:${input.id}` });
  });
}
