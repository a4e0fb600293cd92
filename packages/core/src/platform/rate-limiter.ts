import type { Database } from "@quayside/db";
import type { Clock, Log } from "./context.ts";

export interface RateDecision {
  allowed: boolean;
  limit: number;
  /** Requests left in the sliding minute. */
  remaining: number;
  /** Milliseconds until more are allowed. */
  resetMs: number;
}

export const WINDOW_MS = 60_000;
const FLUSH_INTERVAL_MS = 200;
const MAX_BUCKETS = 50_000;

/** Hits of one bucket in one window. */
interface Hits {
  name: string;
  windowStart: number;
  count: number;
}

interface Bucket {
  windowStart: number;
  /** Hits of this window that the database knows, from all processes. */
  stored: number;
  /** Hits of this window that are not stored yet. */
  pending: number;
  /** Hits of this window that are being stored at this moment. */
  storing: number;
  /** Hits of the window before. */
  previous: number;
}

/**
 * Sliding one-minute windows, approximated from the current and the previous minute, shared by all processes.
 * `hit` decides in memory and stores its counts in one statement every 200 ms: for hot paths, where N processes may
 * together let through what arrives in 200 ms too much. `hitExactly` asks the database each time: for doors that
 * guard a secret.
 */
export class RateLimiter {
  readonly #db: Database;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #buckets = new Map<string, Bucket>();
  readonly #timer: NodeJS.Timeout;
  /** Hits of windows that were over before they were stored. */
  #late: Hits[] = [];
  #flushing: Promise<void> = Promise.resolve();

  constructor(db: Database, clock: Clock, log: Log) {
    this.#db = db;
    this.#clock = clock;
    this.#log = log;
    this.#timer = setInterval(() => void this.flush(), FLUSH_INTERVAL_MS);
    this.#timer.unref();
  }

  /** Counts a hit when it is allowed. */
  hit(name: string, limit: number): RateDecision {
    const nowMs = this.#clock.now().getTime();
    const bucket = this.#bucketOf(name, nowMs);
    const decision = decide(countOf(bucket), bucket.previous, limit, nowMs - bucket.windowStart);
    if (decision.allowed) bucket.pending += 1;
    return decision;
  }

  /** What `hit` would say, without counting. */
  peek(name: string, limit: number): RateDecision {
    const nowMs = this.#clock.now().getTime();
    const bucket = this.#bucketOf(name, nowMs);
    return decide(countOf(bucket), bucket.previous, limit, nowMs - bucket.windowStart);
  }

  /** One statement that counts and decides at once; concurrent callers cannot slip past the limit together. */
  async hitExactly(name: string, limit: number): Promise<RateDecision> {
    const nowMs = this.#clock.now().getTime();
    const start = windowStartOf(nowMs);
    const share = 1 - (nowMs - start) / WINDOW_MS;
    const [row] = await this.#db.sql<{ count: string | null; previous: string }[]>`
      WITH previous AS (
        SELECT coalesce(max(count), 0) AS count FROM rate_limit_windows
        WHERE bucket = ${name} AND window_start = ${iso(start - WINDOW_MS)}::timestamptz
      ), taken AS (
        INSERT INTO rate_limit_windows AS w (bucket, window_start, count)
        SELECT ${name}, ${iso(start)}::timestamptz, 1 FROM previous WHERE previous.count * ${share}::float8 < ${limit}::float8
        ON CONFLICT (bucket, window_start) DO UPDATE SET count = w.count + 1
          WHERE w.count + (SELECT count FROM previous) * ${share}::float8 < ${limit}::float8
        RETURNING count
      )
      SELECT (SELECT count FROM taken) AS count, (SELECT count FROM previous) AS previous`;
    const taken = row?.count == null ? limit : Number(row.count) - 1;
    const decision = decide(taken, Number(row?.previous ?? 0), limit, nowMs - start);
    return { ...decision, allowed: row?.count != null };
  }

  /** Stores what was counted and learns what other processes counted. */
  flush(): Promise<void> {
    this.#flushing = this.#flushing
      .then(() => this.#store())
      .catch((error: unknown) => {
        this.#log.warn({ err: error }, "rate-limit counters could not be stored; they are tried again");
      });
    return this.#flushing;
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    await this.flush();
  }

  async #store(): Promise<void> {
    const nowMs = this.#clock.now().getTime();
    await this.#storeLate(nowMs);
    const taken: { hits: Hits; bucket: Bucket }[] = [];
    for (const [name, bucket] of this.#buckets) {
      if (bucket.pending > 0) {
        taken.push({ hits: { name, windowStart: bucket.windowStart, count: bucket.pending }, bucket });
        bucket.storing = bucket.pending;
        bucket.pending = 0;
      } else if (nowMs - bucket.windowStart > 2 * WINDOW_MS) {
        this.#buckets.delete(name);
      }
    }
    if (taken.length === 0) return;
    const counts = await this.#add(taken.map(({ hits }) => hits)).catch((error: unknown) => {
      for (const { hits, bucket } of taken) this.#giveBack(hits, bucket);
      throw error;
    });
    for (const { hits, bucket } of taken) {
      // The minute may have turned while the statement ran; then the hits belong to the window before.
      if (bucket.windowStart !== hits.windowStart) continue;
      bucket.stored = Number(counts.get(hits.name)?.count ?? bucket.stored + bucket.storing);
      bucket.previous = Number(counts.get(hits.name)?.previous ?? bucket.previous);
      bucket.storing = 0;
    }
  }

  /** Goes first, so that what is read of the window before is complete. */
  async #storeLate(nowMs: number): Promise<void> {
    const late = this.#late.filter(({ windowStart }) => nowMs - windowStart <= 2 * WINDOW_MS);
    this.#late = [];
    for (const windowStart of new Set(late.map((hits) => hits.windowStart))) {
      const ofWindow = late.filter((hits) => hits.windowStart === windowStart);
      await this.#add(ofWindow).catch((error: unknown) => {
        this.#late.push(...ofWindow);
        throw error;
      });
    }
  }

  #giveBack(hits: Hits, bucket: Bucket): void {
    if (bucket.windowStart !== hits.windowStart) {
      this.#late.push(hits);
      return;
    }
    bucket.pending += bucket.storing;
    bucket.storing = 0;
  }

  /** Adds hits, at most one entry a bucket, and tells the counts of their windows and the ones before. */
  async #add(hits: Hits[]): Promise<Map<string, { count: string; previous: string }>> {
    // One order for all processes, so that two of them never wait for each other's rows.
    const sorted = [...hits].sort((a, b) => (a.name < b.name ? -1 : 1));
    const rows = await this.#db.sql<{ bucket: string; count: string; previous: string }[]>`
      WITH stored AS (
        INSERT INTO rate_limit_windows AS w (bucket, window_start, count)
        SELECT * FROM unnest(${sorted.map(({ name }) => name)}::text[],
          ${sorted.map(({ windowStart }) => iso(windowStart))}::text[]::timestamptz[],
          ${sorted.map(({ count }) => count)}::bigint[])
        ON CONFLICT (bucket, window_start) DO UPDATE SET count = w.count + excluded.count
        RETURNING bucket, window_start, count
      )
      SELECT stored.bucket, stored.count, coalesce(before.count, 0) AS previous FROM stored
      LEFT JOIN rate_limit_windows before
        ON before.bucket = stored.bucket AND before.window_start = stored.window_start - interval '1 minute'`;
    return new Map(rows.map((row) => [row.bucket, row]));
  }

  #bucketOf(name: string, nowMs: number): Bucket {
    const start = windowStartOf(nowMs);
    let bucket = this.#buckets.get(name);
    if (!bucket) {
      if (this.#buckets.size >= MAX_BUCKETS) this.#dropOldest();
      bucket = { windowStart: start, stored: 0, pending: 0, storing: 0, previous: 0 };
      this.#buckets.set(name, bucket);
    } else if (bucket.windowStart !== start) {
      if (bucket.pending > 0) this.#late.push({ name, windowStart: bucket.windowStart, count: bucket.pending });
      const counted = countOf(bucket);
      bucket.previous = start - bucket.windowStart === WINDOW_MS ? counted : 0;
      bucket.windowStart = start;
      bucket.stored = 0;
      bucket.pending = 0;
      bucket.storing = 0;
    }
    return bucket;
  }

  #dropOldest(): void {
    const oldest = this.#buckets.keys().next();
    if (!oldest.done) this.#buckets.delete(oldest.value);
  }
}

function countOf(bucket: Bucket): number {
  return bucket.stored + bucket.storing + bucket.pending;
}

function decide(current: number, previous: number, limit: number, elapsedMs: number): RateDecision {
  const share = 1 - elapsedMs / WINDOW_MS;
  const used = current + previous * share;
  const allowed = used < limit;
  return {
    allowed,
    limit,
    remaining: Math.max(0, Math.floor(limit - used - (allowed ? 1 : 0))),
    resetMs: Math.max(1, WINDOW_MS - elapsedMs),
  };
}

function windowStartOf(nowMs: number): number {
  return nowMs - (nowMs % WINDOW_MS);
}

function iso(ms: number): string {
  return new Date(ms).toISOString();
}
