import postgres from "postgres";
import type { Log } from "./context.ts";

/** Hears what is published on a channel. `gap` means that messages may have been missed: read again. */
export interface Listener {
  message(payload: string): void;
  gap(): void;
}

export interface Broker {
  /** False while the connection is lost: what depends on being told must not be trusted. */
  readonly connected: boolean;
  /** Resolves when the channel is listened to. The returned function ends the subscription. */
  subscribe(channel: string, listener: Listener): Promise<() => void>;
  close(): Promise<void>;
}

const RECONNECT_MIN_MS = 50;
const RECONNECT_MAX_MS = 2_000;
const PROBE_INTERVAL_MS = 1_000;
const PROBE_TIMEOUT_MS = 3_000;

/**
 * PostgreSQL LISTEN on one connection of its own. Publishing is `pg_notify` inside the transaction of the change, so a
 * message arrives when and only when the change is committed. A lost connection is opened again, every channel is
 * listened to again, and every listener is told of the gap.
 */
export class PostgresBroker implements Broker {
  readonly #url: string;
  readonly #log: Log;
  readonly #listeners = new Map<string, Set<Listener>>();
  #connection: postgres.Sql | null = null;
  #connected = false;
  #closing = false;
  #probe: NodeJS.Timeout | null = null;
  #reconnect: NodeJS.Timeout | null = null;

  private constructor(url: string, log: Log) {
    this.#url = url;
    this.#log = log;
  }

  static async open(url: string, log: Log): Promise<PostgresBroker> {
    const broker = new PostgresBroker(url, log);
    await broker.#connect();
    return broker;
  }

  get connected(): boolean {
    return this.#connected;
  }

  async subscribe(channel: string, listener: Listener): Promise<() => void> {
    const present = this.#listeners.get(channel);
    const listeners = present ?? new Set();
    listeners.add(listener);
    this.#listeners.set(channel, listeners);
    try {
      // A second subscriber listens again too: LISTEN is harmless when repeated, and it must not return too early.
      if (this.#connected && this.#connection) await listen(this.#connection, channel);
    } catch (error) {
      this.#log.warn({ err: error, channel }, "listening failed; it is repeated when the broker reconnects");
    }
    return () => this.#unsubscribe(channel, listener);
  }

  async close(): Promise<void> {
    this.#closing = true;
    this.#connected = false;
    if (this.#probe) clearInterval(this.#probe);
    if (this.#reconnect) clearTimeout(this.#reconnect);
    await this.#connection?.end({ timeout: 2 });
  }

  #unsubscribe(channel: string, listener: Listener): void {
    const listeners = this.#listeners.get(channel);
    if (!listeners?.delete(listener) || listeners.size > 0) return;
    this.#listeners.delete(channel);
    if (!this.#connected || !this.#connection) return;
    this.#connection.unsafe(`UNLISTEN ${quoted(channel)}`).then(
      // Somebody may have subscribed while UNLISTEN was under way.
      () => {
        if (this.#listeners.has(channel) && this.#connection) listen(this.#connection, channel).catch(() => {});
      },
      () => {},
    );
  }

  /** Becomes the connection only when every channel is listened to; until then a failure is this caller's alone. */
  async #connect(): Promise<void> {
    let lost = false;
    const connection = postgres(this.#url, {
      max: 1,
      idle_timeout: 0,
      max_lifetime: null,
      connect_timeout: 5,
      fetch_types: false,
      onnotice: () => {},
      connection: { application_name: "quayside-broker" },
      onclose: () => {
        lost = true;
        this.#lost(connection);
      },
      onnotify: (channel: string, payload: string) => this.#deliver(channel, payload),
    } as postgres.Options<Record<string, never>>);
    try {
      await connection`SELECT 1`;
      for (const channel of this.#listeners.keys()) await listen(connection, channel);
      // The driver reconnects by itself, but does not listen again.
      if (lost || this.#closing) throw new Error("The broker's connection ended while it was being opened.");
    } catch (error) {
      await connection.end({ timeout: 0 }).catch(() => {});
      throw error;
    }
    this.#connection = connection;
    this.#connected = true;
    this.#probe = setInterval(() => void this.#checkConnection(connection), PROBE_INTERVAL_MS);
    this.#probe.unref();
  }

  /** A connection that was cut off silently never closes by itself; a query that gets no answer tells. */
  async #checkConnection(connection: postgres.Sql): Promise<void> {
    const timer = setTimeout(() => this.#lost(connection), PROBE_TIMEOUT_MS);
    try {
      await connection`SELECT 1`;
    } catch {
      this.#lost(connection);
    } finally {
      clearTimeout(timer);
    }
  }

  #lost(connection: postgres.Sql): void {
    if (this.#closing || this.#connection !== connection) return;
    this.#connected = false;
    this.#connection = null;
    if (this.#probe) clearInterval(this.#probe);
    this.#log.warn({}, "the broker's database connection was lost; reconnecting");
    connection.end({ timeout: 0 }).catch(() => {});
    this.#retry(RECONNECT_MIN_MS);
  }

  #retry(delayMs: number): void {
    if (this.#closing) return;
    this.#reconnect = setTimeout(async () => {
      try {
        await this.#connect();
        this.#log.info({}, "the broker is connected again");
        for (const listeners of this.#listeners.values()) for (const listener of listeners) listener.gap();
      } catch {
        this.#retry(Math.min(delayMs * 2, RECONNECT_MAX_MS));
      }
    }, delayMs);
  }

  #deliver(channel: string, payload: string): void {
    for (const listener of this.#listeners.get(channel) ?? []) listener.message(payload);
  }
}

/** Announces on a channel; inside a transaction the message leaves at commit. At most 8,000 bytes. */
export async function publish(
  db: { sql: postgres.ISql<Record<never, never>> },
  channel: string,
  payload = "",
): Promise<void> {
  await db.sql`SELECT pg_notify(${channel}, ${payload})`;
}

function quoted(channel: string): string {
  return `"${channel.replaceAll('"', '""')}"`;
}

async function listen(connection: postgres.Sql, channel: string): Promise<void> {
  await connection.unsafe(`LISTEN ${quoted(channel)}`);
}
