import type { Broker, Listener } from "./broker.ts";

export interface FeedRow {
  /** Grows with every row of the feed; rows become visible in this order. */
  id: number;
}

/** Where a feed's rows come from: a table, and the channel on which new rows are announced. */
export interface FeedSource<Row extends FeedRow> {
  channel: string;
  /** At most `limit` rows after `afterId`, in order. */
  read(afterId: number, limit: number): Promise<Row[]>;
  /** Id of the newest row, 0 without one. */
  latest(): Promise<number>;
}

const PAGE_ROWS = 500;
const CACHED_ROWS = 2_000;
const RETRY_MS = 500;

/**
 * Streams of table rows. However many readers follow a channel in this process, new rows are read once. A reader is
 * only a cursor: one that is slow costs no memory and falls back to reading the table.
 */
export class Feeds {
  readonly #broker: Broker;
  readonly #open = new Map<string, Feed>();

  constructor(broker: Broker) {
    this.#broker = broker;
  }

  /** All rows after `afterId`, then new ones as they come, until the signal aborts. */
  async *follow<Row extends FeedRow>(
    source: FeedSource<Row>,
    afterId: number,
    signal: AbortSignal,
  ): AsyncGenerator<Row> {
    const feed = this.#feedOf(source);
    feed.readers += 1;
    try {
      // Listening comes before the first read, so that nothing falls between the two.
      await feed.ready;
      // An id that is new here may have been read in another process, or be made up: the table knows.
      let cursor = afterId <= feed.last ? afterId : Math.min(afterId, await source.latest());
      while (!signal.aborted) {
        const change = feed.nextChange();
        const rows = feed.cachedAfter(cursor) ?? (await source.read(cursor, PAGE_ROWS));
        for (const row of rows) {
          if (signal.aborted) return;
          yield row as Row;
          cursor = row.id;
        }
        if (rows.length === 0) await untilChanged(change, signal);
      }
    } finally {
      feed.readers -= 1;
      if (feed.readers === 0) {
        this.#open.delete(source.channel);
        feed.close();
      }
    }
  }

  #feedOf(source: FeedSource<FeedRow>): Feed {
    const present = this.#open.get(source.channel);
    if (present) return present;
    const feed = new Feed(source, this.#broker);
    this.#open.set(source.channel, feed);
    return feed;
  }
}

class Feed {
  readers = 0;
  readonly ready: Promise<void>;
  /** Id of the newest row that was read. */
  last = 0;
  readonly #source: FeedSource<FeedRow>;
  #unsubscribe: (() => void) | null = null;
  #closed = false;
  /** Rows in (#base, last], newest last. */
  #rows: FeedRow[] = [];
  #base = Number.MAX_SAFE_INTEGER;
  #opened = false;
  #polling = false;
  #retry: NodeJS.Timeout | null = null;
  #announced = 0;
  #change = Promise.withResolvers<void>();

  constructor(source: FeedSource<FeedRow>, broker: Broker) {
    this.#source = source;
    const hear = () => {
      this.#announced += 1;
      void this.#poll();
    };
    this.ready = this.#start(broker, { message: hear, gap: hear });
    // Readers see the failure; without one it must not count as unhandled.
    this.ready.catch(() => {});
  }

  async #start(broker: Broker, listener: Listener): Promise<void> {
    const unsubscribe = await broker.subscribe(this.#source.channel, listener);
    if (this.#closed) return unsubscribe();
    this.#unsubscribe = unsubscribe;
    this.last = this.#base = await this.#source.latest();
    this.#opened = true;
    void this.#poll();
  }

  close(): void {
    this.#closed = true;
    if (this.#retry) clearTimeout(this.#retry);
    this.#unsubscribe?.();
  }

  nextChange(): Promise<void> {
    return this.#change.promise;
  }

  /** Null when the cache does not reach back to the cursor. */
  cachedAfter(cursor: number): FeedRow[] | null {
    if (cursor < this.#base) return null;
    if (cursor >= this.last) return [];
    let low = 0;
    let high = this.#rows.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#rows[middle]?.id ?? 0) <= cursor) low = middle + 1;
      else high = middle;
    }
    return this.#rows.slice(low);
  }

  async #poll(): Promise<void> {
    if (this.#polling || !this.#opened || this.#closed) return;
    this.#polling = true;
    try {
      let seen = -1;
      while (seen !== this.#announced && !this.#closed) {
        seen = this.#announced;
        await this.#readNew();
      }
    } catch {
      // What was announced is not announced again, so it is read again.
      if (this.#retry) clearTimeout(this.#retry);
      if (!this.#closed) this.#retry = setTimeout(() => void this.#poll(), RETRY_MS);
    } finally {
      this.#polling = false;
    }
  }

  async #readNew(): Promise<void> {
    for (;;) {
      const rows = await this.#source.read(this.last, PAGE_ROWS);
      const newest = rows.at(-1);
      if (!newest) return;
      this.#rows.push(...rows);
      this.last = newest.id;
      if (this.#rows.length > CACHED_ROWS) {
        const dropped = this.#rows.splice(0, this.#rows.length - CACHED_ROWS / 2);
        this.#base = dropped.at(-1)?.id ?? this.#base;
      }
      const change = this.#change;
      this.#change = Promise.withResolvers<void>();
      change.resolve();
    }
  }
}

function untilChanged(change: Promise<void>, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    const done = () => {
      signal.removeEventListener("abort", done);
      resolve();
    };
    signal.addEventListener("abort", done, { once: true });
    void change.then(done);
  });
}
