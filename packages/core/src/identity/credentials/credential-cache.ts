import type { Database } from "@quayside/db";
import { LRUCache } from "lru-cache";
import { type Broker, publish } from "../../platform/broker.ts";

/** Announced whenever a credential, or what it may do, changes. */
const CHANGED = "credentials:changed";

/** A looked-up credential is used again for less than this; together with a look-up's own time it stays under 1 s. */
const MAX_AGE_MS = 800;
const MAX_ENTRIES = 20_000;

interface Entry {
  value: Promise<unknown>;
  startedAt: number;
}

/**
 * Remembers looked-up credentials, unknown ones too, for at most 800 ms from the start of the look-up. A change is
 * announced over the broker and empties the cache at once; if the announcement is lost, age alone keeps the promise
 * that a revocation is seen by every process within 1 s. While the broker is away nothing is taken from the cache.
 * Concurrent look-ups of one credential are one query.
 */
export class CredentialCache {
  readonly #broker: Broker;
  readonly #entries = new LRUCache<string, Entry>({ max: MAX_ENTRIES });
  #unsubscribe: (() => void) | null = null;

  private constructor(broker: Broker) {
    this.#broker = broker;
  }

  static async open(broker: Broker): Promise<CredentialCache> {
    const cache = new CredentialCache(broker);
    const clear = () => cache.#entries.clear();
    cache.#unsubscribe = await broker.subscribe(CHANGED, { message: clear, gap: clear });
    return cache;
  }

  /** `key` names the credential by a hash, never by its text. */
  get<T>(key: string, load: () => Promise<T>): Promise<T> {
    const now = performance.now();
    const present = this.#entries.get(key);
    if (present && this.#broker.connected && now - present.startedAt < MAX_AGE_MS) return present.value as Promise<T>;
    const value = load();
    const entry: Entry = { value, startedAt: now };
    this.#entries.set(key, entry);
    value.catch(() => {
      if (this.#entries.peek(key) === entry) this.#entries.delete(key);
    });
    return value;
  }

  close(): void {
    this.#unsubscribe?.();
  }
}

/** Call in the transaction that revokes a credential, disables a user or changes an entitlement. */
export function announceCredentialChange(tx: Database): Promise<void> {
  return publish(tx, CHANGED);
}
