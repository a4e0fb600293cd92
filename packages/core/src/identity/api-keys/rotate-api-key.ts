import { type ApiKeyRecord, PlatformError, type Principal } from "@quayside/contracts";
import { apiKeys, type Database, organizations, withTransaction } from "@quayside/db";
import { and, eq } from "drizzle-orm";
import { recordAudit } from "../../platform/audit.ts";
import { requireCaller } from "../../platform/authorize.ts";
import type { Context } from "../../platform/context.ts";
import { announceCredentialChange } from "../credentials/credential-cache.ts";
import { generateApiKey, hashSecret } from "../credentials/secret-formats.ts";
import { findEntitlement, refuseWithoutPaidPlan } from "../entitlements/entitlement-record.ts";
import { toApiKeyRecord } from "./api-key-record.ts";

type ApiKeyRow = typeof apiKeys.$inferSelect;

/**
 * A new key in place of an old one, with the same settings and the same expiry. The old one goes on for `graceSeconds`,
 * but never beyond its own expiry. Errors: `not_found` for a key that is not the caller's, revoked or expired;
 * `conflict` for one that has a successor already; `live_key_requires_paid_plan`.
 */
export async function rotateApiKey(
  ctx: Context,
  input: { id: string; graceSeconds: number },
): Promise<{ key: ApiKeyRecord; secret: string; previous: ApiKeyRecord }> {
  const principal = requireCaller(ctx, "admin");
  const now = ctx.clock.now();
  return withTransaction(ctx.db, async (tx) => {
    const old = await lockUsableKey(tx, principal, input.id, now);
    if (old.environment === "live") refuseWithoutPaidPlan(await findEntitlement(tx, principal.user.uid), now);
    const { secret, prefix } = generateApiKey(old.environment);
    const id = ctx.ids.uuid();
    const [key] = await tx.orm
      .insert(apiKeys)
      .values({ ...old, id, keyHash: hashSecret(secret), prefix, createdAt: now, lastUsedAt: null })
      .returning();
    const graceEnd = new Date(now.getTime() + input.graceSeconds * 1_000);
    const expiresAt = old.expiresAt && old.expiresAt < graceEnd ? old.expiresAt : graceEnd;
    const [previous] = await tx.orm
      .update(apiKeys)
      .set({ expiresAt, successorId: id })
      .where(eq(apiKeys.id, old.id))
      .returning();
    if (!key || !previous) throw new Error("Rotating an API key returned no row.");
    await announceCredentialChange(tx);
    const details = { name: old.name, successor: id, graceSeconds: input.graceSeconds };
    await recordAudit(tx, ctx, { action: "api_key.rotated", target: `api_key:${old.id}`, details });
    return { key: toApiKeyRecord(key, now), secret, previous: toApiKeyRecord(previous, now) };
  });
}

/** The row stays locked to the end of the transaction: of two rotations at once, the second finds the successor. */
async function lockUsableKey(tx: Database, principal: Principal, id: string, now: Date): Promise<ApiKeyRow> {
  const [row] = await tx.orm
    .select()
    .from(apiKeys)
    .where(and(eq(apiKeys.id, id), eq(apiKeys.userId, principal.user.id)))
    .for("no key update");
  const usable = row !== undefined && row.revokedAt === null && (row.expiresAt === null || row.expiresAt > now);
  if (!usable || !(await isWithinReach(tx, principal, row))) {
    throw new PlatformError("not_found", `No active API key of yours has the id ${id}.`);
  }
  if (row.successorId !== null) {
    throw new PlatformError("conflict", `This key was rotated already; its successor is ${row.successorId}.`);
  }
  return row;
}

/** The secret of the new key is shown, so an API key rotates keys of its own organization only. */
async function isWithinReach(tx: Database, principal: Principal, row: ApiKeyRow): Promise<boolean> {
  if (principal.via.kind !== "api_key") return true;
  if (row.tenantId !== null) return row.tenantId === principal.organization.id;
  const [personal] = await tx.orm
    .select({ id: organizations.id })
    .from(organizations)
    .where(eq(organizations.personalUserId, principal.user.id));
  return personal?.id === principal.organization.id;
}
