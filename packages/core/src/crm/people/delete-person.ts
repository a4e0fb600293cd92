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
      DELETE FROM people WHERE organization_id = ${organization.id} AND id = ${input.id} RETURNING id`;
    if (!row) throw noPerson(input.id);
    // What a merge kept of them goes too.
    await tx.sql`
      DELETE FROM person_merges
      WHERE organization_id = ${organization.id} AND (survivor_id = ${input.id} OR merged_id = ${input.id})`;
    await recordAudit(tx, ctx, { action: "person.deleted", target: `person:${input.id}` });
  });
}
