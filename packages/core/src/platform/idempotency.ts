import { createHash } from "node:crypto";
import { type ApiScope, PlatformError } from "@quayside/contracts";
import { requireCaller } from "./authorize.ts";
import type { Context } from "./context.ts";

const LIFETIME_MS = 24 * 3_600_000;
/** A request that took its lock this long ago is dead, and another may take over. */
const LOCK_MS = 60_000;
const MAX_KEY_LENGTH = 255;

export interface StoredResponse {
  status: number;
  body: string;
}

export interface IdempotentOutcome extends StoredResponse {
  replayed: boolean;
}

/**
 * The `Idempotency-Key` rule (IETF draft, and as Stripe has it): per organization and route, for 24 hours, the first
 * response is replayed byte for byte. Errors: `idempotency_key_reused` for another body, `idempotency_in_progress`
 * while the first still runs, `invalid_request` for a bad key. A request that fails is forgotten, so that it can be
 * mended and sent again. Responses are sealed at rest.
 */
export async function runIdempotently(
  ctx: Context,
  request: { key: string; route: string; scope: ApiScope; body: string },
  work: () => Promise<StoredResponse>,
): Promise<IdempotentOutcome> {
  // A replay shows what the first caller was shown, so it asks for the same scope.
  const { organization, user } = requireCaller(ctx, request.scope);
  const key = readKey(request.key);
  const purpose = `idempotency:${organization.id}:${request.route}:${key}`;
  const bodyHash = createHash("sha256").update(`${user.uid}\n`).update(request.body).digest();
  const now = ctx.clock.now();
  const at = { now: now.toISOString(), stale: new Date(now.getTime() - LOCK_MS).toISOString() };
  const expires = new Date(now.getTime() + LIFETIME_MS).toISOString();
  const [taken] = await ctx.db.sql`
    INSERT INTO idempotency_keys AS k (organization_id, route, key, request_hash, locked_at, created_at, expires_at)
    VALUES (${organization.id}, ${request.route}, ${key}, ${bodyHash}, ${at.now}::timestamptz, ${at.now}::timestamptz,
      ${expires}::timestamptz)
    ON CONFLICT (organization_id, route, key) DO UPDATE
      SET locked_at = excluded.locked_at, request_hash = excluded.request_hash, response_status = NULL,
        response_body = NULL, created_at = excluded.created_at, expires_at = excluded.expires_at
      WHERE k.expires_at < excluded.created_at
        OR (k.response_status IS NULL AND k.locked_at < ${at.stale}::timestamptz AND k.request_hash = excluded.request_hash)
    RETURNING 1`;
  const row = { organizationId: organization.id, route: request.route, key };
  if (!taken) return replay(ctx, row, bodyHash, purpose);
  // The lock is told by its time: one that was taken over after its time-out no longer writes.
  try {
    const response = await work();
    const sealed = ctx.sealer.seal(purpose, response.body);
    await ctx.db.sql`
      UPDATE idempotency_keys SET locked_at = NULL, response_status = ${response.status}, response_body = ${sealed}
      WHERE organization_id = ${row.organizationId} AND route = ${row.route} AND key = ${row.key}
        AND locked_at = ${at.now}::timestamptz`;
    return { ...response, replayed: false };
  } catch (error) {
    await ctx.db.sql`
      DELETE FROM idempotency_keys WHERE organization_id = ${row.organizationId} AND route = ${row.route}
        AND key = ${row.key} AND locked_at = ${at.now}::timestamptz`;
    throw error;
  }
}

async function replay(
  ctx: Context,
  row: { organizationId: string; route: string; key: string },
  bodyHash: Buffer,
  purpose: string,
): Promise<IdempotentOutcome> {
  const [stored] = await ctx.db.sql<{ hash: Buffer; status: number | null; body: Buffer | null }[]>`
    SELECT request_hash AS hash, response_status AS status, response_body AS body FROM idempotency_keys
    WHERE organization_id = ${row.organizationId} AND route = ${row.route} AND key = ${row.key}`;
  if (stored && !stored.hash.equals(bodyHash)) {
    throw new PlatformError(
      "idempotency_key_reused",
      "This Idempotency-Key was used with another body; use a new key.",
    );
  }
  if (!stored || stored.status === null || stored.body === null) {
    throw new PlatformError(
      "idempotency_in_progress",
      "The first request with this Idempotency-Key is still running.",
      {
        retryAfterMs: 1_000,
      },
    );
  }
  return { status: stored.status, body: ctx.sealer.open(purpose, stored.body).toString(), replayed: true };
}

/** The key as text; the draft writes it as a quoted string, most clients bare. */
function readKey(header: string): string {
  const quoted = /^"((?:[^"\\]|\\["\\])*)"$/.exec(header.trim());
  const key = quoted ? (quoted[1] ?? "").replace(/\\(["\\])/g, "$1") : header.trim();
  if (key.length >= 1 && key.length <= MAX_KEY_LENGTH && /^[\x20-\x7e]+$/.test(key)) return key;
  throw new PlatformError(
    "invalid_request",
    `Idempotency-Key must be 1 to ${MAX_KEY_LENGTH} printable ASCII characters.`,
  );
}
