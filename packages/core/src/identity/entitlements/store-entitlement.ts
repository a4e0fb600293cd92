import type { Plan } from "@quayside/contracts";
import { type Database, entitlements } from "@quayside/db";
import { recordAudit } from "../../platform/audit.ts";
import type { Context } from "../../platform/context.ts";
import { announceCredentialChange } from "../credentials/credential-cache.ts";
import type { EntitlementRow } from "./entitlement-record.ts";

export interface NewEntitlement {
  userUid: string;
  plan: Plan;
  entitledUntil: Date | null;
  source: string;
  /** Null: decided by payment events. */
  setByHandAt: Date | null;
}

/** Writes it, tells every process, and records who did it. Runs in the caller's transaction, under the user's lock. */
export async function storeEntitlement(
  tx: Database,
  ctx: Context,
  entitlement: NewEntitlement,
  before: EntitlementRow | null,
): Promise<EntitlementRow> {
  const values = { ...entitlement, updatedAt: ctx.clock.now() };
  const [row] = await tx.orm
    .insert(entitlements)
    .values(values)
    .onConflictDoUpdate({ target: entitlements.userUid, set: values })
    .returning();
  if (!row) throw new Error("INSERT INTO entitlements returned no row.");
  await announceCredentialChange(tx);
  await recordAudit(tx, ctx, {
    action: "entitlement.changed",
    target: `user:${row.userUid}`,
    details: { ...told(row), before: before && told(before) },
  });
  return row;
}

function told({ plan, entitledUntil, source }: EntitlementRow) {
  return { plan, entitledUntil: entitledUntil?.toISOString() ?? null, source };
}
