import type { ReceiverConnection } from "./receiver-connection.ts";

export interface PoolLimits {
  /** Sends under way at once to one origin; more wait. */
  maxActivePerOrigin: number;
  /** Sends under way at once. */
  maxActive: number;
  /** Kept connections without a request, and so also the origins that have one. */
  maxIdle: number;
}

interface Waiter {
  origin: string;
  admit: () => void;
}

/** Bounds the sends under way and keeps connections between them, by origin. */
export class ConnectionPool {
  readonly #limits: PoolLimits;
  /** The one that was used longest ago is first. */
  readonly #idle: ReceiverConnection[] = [];
  readonly #activeByOrigin = new Map<string, number>();
  readonly #waiting: Waiter[] = [];
  #active = 0;
  #closed = false;

  constructor(limits: PoolLimits) {
    this.#limits = limits;
  }

  /**
   * Waits for a place among the sends under way; gives a kept connection, or null: then a new one can be made. Each call
   * that does not throw the signal's reason needs one of `release`.
   */
  async take(origin: string, signal: AbortSignal): Promise<ReceiverConnection | null> {
    signal.throwIfAborted();
    if (this.#hasRoom(origin)) this.#occupy(origin);
    else await this.#admission(origin, signal);
    // The newest is the least likely to be closed by the other side just now.
    const index = this.#idle.findLastIndex((connection) => connection.origin === origin && connection.isReusable);
    return index < 0 ? null : (this.#idle.splice(index, 1)[0] ?? null);
  }

  /** Gives the place back, and the connection, which is kept when it can be used again. */
  release(origin: string, connection: ReceiverConnection | null): void {
    const left = (this.#activeByOrigin.get(origin) ?? 1) - 1;
    if (left > 0) this.#activeByOrigin.set(origin, left);
    else this.#activeByOrigin.delete(origin);
    this.#active -= 1;
    if (connection) this.#keep(connection);
    const next = this.#waiting.findIndex((waiter) => this.#hasRoom(waiter.origin));
    if (next >= 0) this.#waiting.splice(next, 1)[0]?.admit();
  }

  /** For a connection that closed by itself. */
  forget(connection: ReceiverConnection): void {
    const index = this.#idle.indexOf(connection);
    if (index < 0) return;
    this.#idle.splice(index, 1);
    connection.close();
  }

  /** Closes what is idle, and from now on whatever is given back. */
  close(): void {
    this.#closed = true;
    for (const connection of this.#idle.splice(0)) connection.close();
  }

  #keep(connection: ReceiverConnection): void {
    if (this.#closed || !connection.isReusable) {
      connection.close();
      return;
    }
    this.#idle.push(connection);
    if (this.#idle.length > this.#limits.maxIdle) this.#idle.shift()?.close();
  }

  #hasRoom(origin: string): boolean {
    const { maxActive, maxActivePerOrigin } = this.#limits;
    return this.#active < maxActive && (this.#activeByOrigin.get(origin) ?? 0) < maxActivePerOrigin;
  }

  #occupy(origin: string): void {
    this.#active += 1;
    this.#activeByOrigin.set(origin, (this.#activeByOrigin.get(origin) ?? 0) + 1);
  }

  async #admission(origin: string, signal: AbortSignal): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const waiter: Waiter = {
      origin,
      admit: () => {
        this.#occupy(origin);
        resolve();
      },
    };
    const onAbort = () => {
      const index = this.#waiting.indexOf(waiter);
      // Admitted in the same turn: the place is taken, and is given back as after any send.
      if (index < 0) return;
      this.#waiting.splice(index, 1);
      reject(signal.reason);
    };
    this.#waiting.push(waiter);
    signal.addEventListener("abort", onAbort, { once: true });
    try {
      await promise;
    } finally {
      signal.removeEventListener("abort", onAbort);
    }
  }
}
