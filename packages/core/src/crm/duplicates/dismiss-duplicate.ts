import { PlatformError } from "@quayside/contracts";
import { withTransaction } from "@quayside/db";
import { recordAudit } from "../../platform/audit.ts";
import { actorOf, requireCaller } from "../../platform/authorize.ts";
import type { Context } from "../../platform/context.ts";
import { noPerson } from "../people/update-person.ts";

/**
 * Says that two people are two: the pair is not found as duplicates any more. Saying so again changes nothing. Errors:
 * `not_found`, `validation_failed` for one person twice.
 */
export async function dismissDuplicate(ctx: Context, input: { firstId: string; secondId: string }): Promise<void> {
  const { organization } = requireCaller(ctx, "write");
  const [first = "", second = ""] = [input.firstId, input.secondId].sort();
  if (first === second) {
    const message = "A pair is two different people.";
    const issues = [{ field: "secondId", code: "invalid_value", message }];
    throw new PlatformError("validation_failed", message, { issues });
  }
  await withTransaction(ctx.db, async (tx) => {
    const rows = await tx.sql<{ id: string }[]>`
      SELECT id FROM people WHERE organization_id = ${organization.id} AND id IN (${first}, ${second})
      ORDER BY id FOR KEY SHARE`;
    const missing = [input.firstId, input.secondId].find((id) => !rows.some((row) => row.id === id));
    if (missing !== undefined) throw noPerson(missing);
    const { count } = await tx.sql`
      INSERT INTO duplicate_dismissals (organization_id, first_id, second_id, actor, created_at)
      VALUES (${organization.id}, ${first}, ${second}, ${actorOf(ctx)}, ${ctx.clock.now().toISOString()}::timestamptz)
      ON CONFLICT DO NOTHING`;
    if (count === 0) return;
    await recordAudit(tx, ctx, {
      action: "duplicate.dismissed",
      target: `person:${first}`,
      details: { other: second },
    });
  });
}
