import { withTransaction } from "@quayside/db";
import { recordAudit } from "../../platform/audit.ts";
import { requireCaller } from "../../platform/authorize.ts";
import type { Context } from "../../platform/context.ts";

/** Takes back that a pair was dismissed. A pair that was not is left as it is. */
export async function restoreDuplicate(ctx: Context, input: { firstId: string; secondId: string }): Promise<void> {
  const { organization } = requireCaller(ctx, "write");
  const [first = "", second = ""] = [input.firstId, input.secondId].sort();
  await withTransaction(ctx.db, async (tx) => {
    const { count } = await tx.sql`
      DELETE FROM duplicate_dismissals
      WHERE organization_id = ${organization.id} AND first_id = ${first} AND second_id = ${second}`;
    if (count === 0) return;
    await recordAudit(tx, ctx, { action: "duplicate.restored", target: `person:${first}`, details: { other: second } });
  });
}
