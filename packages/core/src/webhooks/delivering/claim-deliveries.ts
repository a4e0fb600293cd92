import type { Context } from "../../platform/context.ts";
import { openEndpointSecret } from "../endpoint-secrets.ts";
import { type SigningKey, signingKey } from "../sending/sign-delivery.ts";

/** One attempt that may be made now. */
export interface ClaimedDelivery {
  id: string;
  attempt: number;
  maxAttempts: number;
  eventId: string;
  type: string;
  /** JSON, as PostgreSQL writes it: the same bytes in each attempt. */
  data: string;
  occurredAt: number;
  organizationId: string;
}

export interface ClaimedEndpoint {
  id: string;
  organizationId: string;
  url: string;
  /** The current secret's first, then the previous one's while it still signs. */
  keys: SigningKey[];
  pace: number | null;
  /** Nothing has been delivered since it last rested. */
  rested: boolean;
}

/** The endpoint as it is at this moment; null when it is disabled, paused or gone. */
export async function readSendableEndpoint(ctx: Context, endpointId: string): Promise<ClaimedEndpoint | null> {
  const now = ctx.clock.now().toISOString();
  const [row] = await ctx.db.sql<(Omit<ClaimedEndpoint, "keys"> & { secret: Buffer; previousSecret: Buffer | null })[]>`
    SELECT id, organization_id AS "organizationId", url, pace, secret,
      coalesce(paused_until > failing_since, false) AS rested,
      CASE WHEN previous_secret_until > ${now}::timestamptz THEN previous_secret END AS "previousSecret"
    FROM webhook_endpoints
    WHERE id = ${endpointId} AND status = 'enabled'
      AND (paused_until IS NULL OR paused_until <= ${now}::timestamptz)`;
  if (!row) return null;
  const { secret, previousSecret, ...endpoint } = row;
  const sealed = previousSecret ? [secret, previousSecret] : [secret];
  return { ...endpoint, keys: sealed.map((value) => signingKey(openEndpointSecret(ctx, endpointId, value))) };
}

/**
 * Takes up to `limit` due deliveries of an endpoint, live ones first, and writes their attempts before anything is
 * sent. They are leased: when this process dies they are due again after `leaseMs`, and the attempt that came to
 * nothing does not count.
 */
export async function claimDeliveries(
  ctx: Context,
  endpointId: string,
  limit: number,
  leaseMs: number,
): Promise<ClaimedDelivery[]> {
  const now = ctx.clock.now();
  const at = { now: now.toISOString(), lease: new Date(now.getTime() + leaseMs).toISOString() };
  // By row address and with one look-up an event: a planner that takes the tables for small would read them as a whole.
  return ctx.db.sql<ClaimedDelivery[]>`
    WITH due AS MATERIALIZED (
      SELECT d.ctid AS place, d.id, d.priority, d.next_attempt_at AS due_at FROM webhook_deliveries d
      WHERE d.endpoint_id = ${endpointId} AND d.status = 'pending' AND d.next_attempt_at <= ${at.now}::timestamptz
        AND EXISTS (SELECT 1 FROM webhook_endpoints w WHERE w.id = d.endpoint_id AND w.status = 'enabled')
      ORDER BY d.priority, d.next_attempt_at LIMIT ${limit} FOR UPDATE SKIP LOCKED
    ), claimed AS (
      UPDATE webhook_deliveries d SET attempts = d.attempts + 1, next_attempt_at = ${at.lease}::timestamptz,
        max_attempts = d.max_attempts + CASE WHEN d.attempts > 0 AND EXISTS (
          SELECT 1 FROM webhook_attempts a
          WHERE a.delivery_id = d.id AND a.attempt = d.attempts AND a.duration_ms IS NULL) THEN 1 ELSE 0 END
      WHERE d.ctid = ANY (ARRAY (SELECT place FROM due))
      RETURNING d.id, d.attempts, d.max_attempts, d.event_id, d.organization_id
    ), attempted AS (
      INSERT INTO webhook_attempts (delivery_id, attempt, at)
      SELECT id, attempts, ${at.now}::timestamptz FROM claimed
    )
    SELECT c.id, c.attempts AS attempt, c.max_attempts AS "maxAttempts", e.id AS "eventId", e.type, e.data::text AS data,
      (extract(epoch FROM e.occurred_at) * 1000)::float8 AS "occurredAt", c.organization_id AS "organizationId"
    FROM claimed c JOIN due ON due.id = c.id
    CROSS JOIN LATERAL (SELECT * FROM webhook_events WHERE id = c.event_id OFFSET 0) AS e
    ORDER BY due.priority, due.due_at, e.id`;
}

/** So long an endpoint rests at least, and at most, when it does not answer. */
const REST_SECONDS = { least: 30, most: 900 };

/**
 * Nothing is sent to the endpoint before `until`, and when it hangs for as long as it has been failing already: each rest
 * is about twice as long as the one before.
 */
export async function pauseEndpoint(
  ctx: Context,
  endpointId: string,
  { hangs, until }: { hangs: boolean; until: Date },
): Promise<void> {
  const now = ctx.clock.now().toISOString();
  await ctx.db.sql`
    UPDATE webhook_endpoints SET paused_until = greatest(paused_until, ${until.toISOString()}::timestamptz,
      CASE WHEN ${hangs} THEN ${now}::timestamptz + least(greatest(${now}::timestamptz - failing_since,
        make_interval(secs => ${REST_SECONDS.least})), make_interval(secs => ${REST_SECONDS.most})) END)
    WHERE id = ${endpointId}`;
}

/** Deliveries whose requests were cut off are due at once; their attempts came to nothing, and so do not count. */
export async function cutOffDeliveries(
  ctx: Context,
  endpointId: string,
  deliveries: readonly ClaimedDelivery[],
): Promise<void> {
  if (deliveries.length === 0) return;
  const ids = deliveries.map(({ id }) => id);
  const attempts = deliveries.map(({ attempt }) => attempt);
  await ctx.db.sql`
    WITH endpoint AS MATERIALIZED (SELECT 1 FROM webhook_endpoints WHERE id = ${endpointId} FOR SHARE)
    UPDATE webhook_deliveries d SET next_attempt_at = ${ctx.clock.now().toISOString()}::timestamptz
    FROM endpoint, unnest(${ids}::uuid[], ${attempts}::int[]) AS g (id, attempt)
    WHERE d.id = g.id AND d.attempts = g.attempt AND d.status = 'pending'`;
}

/** Undoes the claim of deliveries that were not begun: due at once, as if never taken. */
export async function giveBackDeliveries(
  ctx: Context,
  endpointId: string,
  deliveries: readonly ClaimedDelivery[],
): Promise<void> {
  if (deliveries.length === 0) return;
  const ids = deliveries.map(({ id }) => id);
  const attempts = deliveries.map(({ attempt }) => attempt);
  await ctx.db.sql`
    WITH endpoint AS MATERIALIZED (
      SELECT 1 FROM webhook_endpoints WHERE id = ${endpointId} FOR SHARE
    ), given AS (
      SELECT g.* FROM endpoint, unnest(${ids}::uuid[], ${attempts}::int[]) AS g (id, attempt)
    ), removed AS (
      DELETE FROM webhook_attempts a USING given WHERE a.delivery_id = given.id AND a.attempt = given.attempt
    )
    UPDATE webhook_deliveries d SET attempts = d.attempts - 1,
      next_attempt_at = ${ctx.clock.now().toISOString()}::timestamptz
    FROM given WHERE d.id = given.id AND d.attempts = given.attempt AND d.status = 'pending'`;
}
