import { randomInt } from "node:crypto";
import type { Log } from "@quayside/core";
import pg from "pg";

const RECOVER_INTERVAL_MS = 5_000;
const RECONNECT_DELAY_MS = 500;

/**
 * Tells which worker processes are alive, so that jobs of a dead one run again at once and not after four hours. Each
 * process holds a session-level advisory lock on a connection of its own: it is free the moment that the process dies,
 * however it dies.
 */
export class ProcessRegistry {
  readonly #connectionString: string;
  readonly #id: string;
  readonly #log: Log;
  readonly #lockKey = randomInt(2 ** 47);
  #poolIds: string[] = [];
  #client: pg.Client | null = null;
  #timer: NodeJS.Timeout | null = null;
  #closing = false;

  private constructor(connectionString: string, id: string, log: Log) {
    this.#connectionString = connectionString;
    this.#id = id;
    this.#log = log;
  }

  static async open(connectionString: string, id: string, log: Log): Promise<ProcessRegistry> {
    const registry = new ProcessRegistry(connectionString, id, log);
    await registry.#connect();
    await registry.recover();
    registry.#timer = setInterval(() => void registry.recover(), RECOVER_INTERVAL_MS);
    return registry;
  }

  /** Names a worker pool of this process: its id is what jobs are locked by. */
  async addPool(poolId: string): Promise<void> {
    this.#poolIds.push(poolId);
    await this.#register();
  }

  /** Gives back the jobs of processes whose lock is free. */
  async recover(): Promise<void> {
    const client = this.#client;
    if (!client) return;
    try {
      const { rows } = await client.query<{ id: string; lock_key: string; worker_ids: string[] }>(
        "SELECT id, lock_key, worker_ids FROM worker_processes WHERE id <> $1",
        [this.#id],
      );
      for (const row of rows) {
        const { rows: taken } = await client.query<{ free: boolean }>("SELECT pg_try_advisory_lock($1) AS free", [
          row.lock_key,
        ]);
        if (!taken[0]?.free) continue;
        await client.query("SELECT graphile_worker.force_unlock_workers($1::text[])", [row.worker_ids]);
        await client.query("DELETE FROM worker_processes WHERE id = $1", [row.id]);
        await client.query("SELECT pg_advisory_unlock($1)", [row.lock_key]);
        this.#log.warn({ process: row.id }, "a worker process had died; its jobs run again");
      }
    } catch (error) {
      this.#log.warn({ err: error }, "dead worker processes could not be looked for; it is tried again");
    }
  }

  async close(): Promise<void> {
    this.#closing = true;
    if (this.#timer) clearInterval(this.#timer);
    const client = this.#client;
    this.#client = null;
    if (!client) return;
    await client.query("DELETE FROM worker_processes WHERE id = $1", [this.#id]).catch(() => {});
    await client.end().catch(() => {});
  }

  async #connect(): Promise<void> {
    const client = new pg.Client({ connectionString: this.#connectionString, application_name: "quayside-process" });
    client.on("error", () => this.#lost(client));
    client.on("end", () => this.#lost(client));
    await client.connect();
    await client.query("SELECT pg_advisory_lock($1)", [this.#lockKey]);
    this.#client = client;
    await this.#register();
  }

  async #register(): Promise<void> {
    await this.#client?.query(
      `INSERT INTO worker_processes (id, lock_key, worker_ids) VALUES ($1, $2, $3)
       ON CONFLICT (id) DO UPDATE SET lock_key = excluded.lock_key, worker_ids = excluded.worker_ids`,
      [this.#id, this.#lockKey, this.#poolIds],
    );
  }

  #lost(client: pg.Client): void {
    if (this.#client !== client || this.#closing) return;
    this.#client = null;
    this.#log.warn({}, "the connection that says this process is alive was lost; reconnecting");
    const again = () => {
      if (this.#closing) return;
      this.#connect().catch(() => setTimeout(again, RECONNECT_DELAY_MS));
    };
    setTimeout(again, RECONNECT_DELAY_MS);
  }
}
