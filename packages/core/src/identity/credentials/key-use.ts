import type { Database } from "@quayside/db";
import type { Clock, Log } from "../../platform/context.ts";

const FLUSH_INTERVAL_MS = 5_000;

/** Remembers when each API key was last used and stores it every 5 s in one statement, off the request's path. */
export class KeyUse {
  readonly #db: Database;
  readonly #clock: Clock;
  readonly #log: Log;
  #used = new Map<string, number>();
  readonly #timer: NodeJS.Timeout;

  constructor(db: Database, clock: Clock, log: Log) {
    this.#db = db;
    this.#clock = clock;
    this.#log = log;
    this.#timer = setInterval(() => void this.flush(), FLUSH_INTERVAL_MS);
    this.#timer.unref();
  }

  record(apiKeyId: string): void {
    this.#used.set(apiKeyId, this.#clock.now().getTime());
  }

  async flush(): Promise<void> {
    if (this.#used.size === 0) return;
    const used = [...this.#used].sort(([a], [b]) => (a < b ? -1 : 1));
    this.#used = new Map();
    try {
      await this.#db.sql`
        UPDATE api_keys SET last_used_at = greatest(last_used_at, used.at)
        FROM unnest(${used.map(([id]) => id)}::uuid[],
          ${used.map(([, at]) => new Date(at).toISOString())}::text[]::timestamptz[]) AS used (id, at)
        WHERE api_keys.id = used.id`;
    } catch (error) {
      for (const [id, at] of used) if (!this.#used.has(id)) this.#used.set(id, at);
      this.#log.warn({ err: error }, "last use of API keys could not be stored; it is tried again");
    }
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    await this.flush();
  }
}
