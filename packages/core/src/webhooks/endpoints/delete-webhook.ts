import type { WebhookArea } from "@quayside/contracts";
import { withTransaction } from "@quayside/db";
import { recordAudit } from "../../platform/audit.ts";
import { requireCaller } from "../../platform/authorize.ts";
import type { Context } from "../../platform/context.ts";
import { storeChanges } from "./endpoint-changes.ts";
import { auditAction, lockEndpoint } from "./find-endpoint.ts";

/**
 * Ends an endpoint for good: it is gone for callers at once, and nothing more is sent. Its rows go with the next
 * `pruneDeletedWebhooks`. Errors: `not_found`.
 */
export async function deleteWebhook(ctx: Context, area: WebhookArea, input: { id: string }): Promise<void> {
  const { organization } = requireCaller(ctx, "write");
  await withTransaction(ctx.db, async (tx) => {
    const row = await lockEndpoint(tx, organization.id, area, input.id);
    await storeChanges(tx, ctx, row, { status: "disabled", deletedAt: ctx.clock.now() });
    await recordAudit(tx, ctx, { action: auditAction(area, "deleted"), target: `webhook:${row.id}` });
  });
}
