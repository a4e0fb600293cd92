import type { RotatedSecret, RotateSecretInput, WebhookArea } from "@quayside/contracts";
import { withTransaction } from "@quayside/db";
import { recordAudit } from "../../platform/audit.ts";
import { requireCaller } from "../../platform/authorize.ts";
import type { Context } from "../../platform/context.ts";
import { generateEndpointSecret, sealEndpointSecret } from "../endpoint-secrets.ts";
import { secretChanges, storeChanges } from "./endpoint-changes.ts";
import { auditAction, lockEndpoint } from "./find-endpoint.ts";

/**
 * Makes another signing secret, which is in this answer only; the old one signs too for `expiresIn` hours. One that is
 * older still ends at once. Who may not read a CRM webhook's secret may not rotate it either. Errors: `not_found`.
 */
export async function rotateSecret(ctx: Context, area: WebhookArea, input: RotateSecretInput): Promise<RotatedSecret> {
  const { organization } = requireCaller(ctx, area === "crm" ? "admin" : "write");
  const secret = generateEndpointSecret();
  return withTransaction(ctx.db, async (tx) => {
    const row = await lockEndpoint(tx, organization.id, area, input.id);
    const sealed = sealEndpointSecret(ctx, row.id, secret);
    const changes = secretChanges(row, sealed, input.expiresIn, ctx.clock.now());
    await storeChanges(tx, ctx, row, changes);
    const details = { previousForHours: input.expiresIn };
    await recordAudit(tx, ctx, { action: auditAction(area, "secret_rotated"), target: `webhook:${row.id}`, details });
    return { secret, previousSecretUntil: changes.previousSecretUntil?.toISOString() ?? null };
  });
}
