import { createHash } from "node:crypto";
import { type ApiScope, PlatformError } from "@quayside/contracts";
import { type Database, withTransaction } from "@quayside/db";
import { requireCaller } from "./authorize.ts";
import type { Context } from "./context.ts";

const LIFETIME_MS = 24 * 3_600_000;
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
 * response is replayed byte for byte. The work and its response are one transaction, under an advisory lock that ends
 * with it: a process that dies in between leaves neither half a change nor a lock. Errors: `idempotency_key_reused`
 * for another body, `idempotency_in_progress` while the first still runs, `invalid_request` for a bad key. A request
 * that fails is forgotten, so that it can be mended and sent again. Responses are sealed at rest.
 */
export async function runIdempotently<C extends Context>(
  ctx: C,
  request: { key: string; route: string; scope: ApiScope; body: string },
  work: (ctx: C) => Promise<StoredResponse>,
): Promise<IdempotentOutcome> {
  // A replay shows what the first caller was shown, so it asks for the same scope.
  const { organization, user } = requireCaller(ctx, request.scope);
  const key = readIdempotencyKey(request.key);
  const row: KeyRow = { organizationId: organization.id, route: request.route, key };
  const purpose = `idempotency:${row.organizationId}:${row.route}:${key}`;
  const bodyHash = createHash("sha256").update(`${user.uid}\n`).update(request.body).digest();
  return withTransaction(ctx.db, async (tx) => {
    const locked = await lockIdempotencyKey(tx, purpose);
    const stored = await findResponse(tx, ctx, row);
    if (stored) {
      if (!stored.hash.equals(bodyHash)) throw reused();
      return { status: stored.status, body: ctx.sealer.open(purpose, stored.body).toString(), replayed: true };
    }
    if (!locked) throw inProgress();
    const response = await work({ ...ctx, db: tx });
    await storeResponse(tx, ctx, {
      ...row,
      bodyHash,
      status: response.status,
      body: ctx.sealer.seal(purpose, response.body),
    });
    return { ...response, replayed: false };
  });
}

/** False when another transaction works on the same key at this moment. */
export async function lockIdempotencyKey(tx: Database, name: string): Promise<boolean> {
  const [row] = await tx.sql<{ locked: boolean }[]>`
    SELECT pg_try_advisory_xact_lock(hashtextextended(${name}, 0)) AS locked`;
  return row?.locked ?? false;
}

export function reused(): PlatformError {
  return new PlatformError(
    "idempotency_key_reused",
    "This Idempotency-Key was used for another request: another body, or another id in the path. Use a new key.",
  );
}

export function inProgress(): PlatformError {
  const message = "The first request with this Idempotency-Key is still running.";
  return new PlatformError("idempotency_in_progress", message, { retryAfterMs: 1_000 });
}

interface KeyRow {
  organizationId: string;
  route: string;
  key: string;
}

async function findResponse(tx: Database, ctx: Context, row: KeyRow) {
  const [stored] = await tx.sql<{ hash: Buffer; status: number; body: Buffer }[]>`
    SELECT request_hash AS hash, response_status AS status, response_body AS body FROM idempotency_keys
    WHERE organization_id = ${row.organizationId} AND route = ${row.route} AND key = ${row.key}
      AND expires_at >= ${ctx.clock.now().toISOString()}::timestamptz`;
  return stored ?? null;
}

async function storeResponse(
  tx: Database,
  ctx: Context,
  row: KeyRow & { bodyHash: Buffer; status: number; body: Buffer },
): Promise<void> {
  const now = ctx.clock.now();
  const expires = new Date(now.getTime() + LIFETIME_MS);
  await tx.sql`
    INSERT INTO idempotency_keys
      (organization_id, route, key, request_hash, response_status, response_body, created_at, expires_at)
    VALUES (${row.organizationId}, ${row.route}, ${row.key}, ${row.bodyHash}, ${row.status}, ${row.body},
      ${now.toISOString()}::timestamptz, ${expires.toISOString()}::timestamptz)
    ON CONFLICT (organization_id, route, key) DO UPDATE
      SET request_hash = excluded.request_hash, response_status = excluded.response_status,
        response_body = excluded.response_body, created_at = excluded.created_at, expires_at = excluded.expires_at`;
}

/** The key as text; the draft writes it as a quoted string, most clients bare. */
export function readIdempotencyKey(header: string): string {
  const quoted = /^"((?:[^"\\]|\\["\\])*)"$/.exec(header.trim());
  const key = quoted ? (quoted[1] ?? "").replace(/\\(["\\])/g, "$1") : header.trim();
  if (key.length >= 1 && key.length <= MAX_KEY_LENGTH && /^[\x20-\x7e]+$/.test(key)) return key;
  throw new PlatformError(
    "invalid_request",
    `Idempotency-Key must be 1 to ${MAX_KEY_LENGTH} printable ASCII characters.`,
  );
}
