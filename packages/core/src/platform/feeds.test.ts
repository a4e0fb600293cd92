import fc from "fast-check";
import { expect, test } from "vitest";
import { until } from "../../../../test/support/until.ts";
import type { Broker, Listener } from "./broker.ts";
import { type FeedRow, type FeedSource, Feeds } from "./feeds.ts";

/** A broker within the process, whose listeners a test can count and whose messages it can hold back. */
class LocalBroker implements Broker {
  readonly connected = true;
  readonly listeners = new Map<string, Set<Listener>>();
  async subscribe(channel: string, listener: Listener): Promise<() => void> {
    await Promise.resolve();
    const listeners = this.listeners.get(channel) ?? new Set();
    this.listeners.set(channel, listeners.add(listener));
    return () => void listeners.delete(listener);
  }
  announce(channel: string): void {
    for (const listener of this.listeners.get(channel) ?? []) listener.message("");
  }
  tellGap(channel: string): void {
    for (const listener of this.listeners.get(channel) ?? []) listener.gap();
  }
  countOf(channel: string): number {
    return this.listeners.get(channel)?.size ?? 0;
  }
  async close(): Promise<void> {}
}

/** A table that counts how often it is asked, and can be made to fail. */
class Table implements FeedSource<FeedRow> {
  readonly channel = "table";
  readonly rows: FeedRow[] = [];
  reads = 0;
  latestReads = 0;
  failures = 0;
  async read(afterId: number, limit: number): Promise<FeedRow[]> {
    this.reads += 1;
    await Promise.resolve();
    if (this.failures > 0) {
      this.failures -= 1;
      throw new Error("the table cannot be read");
    }
    return this.rows.filter((row) => row.id > afterId).slice(0, limit);
  }
  async latest(): Promise<number> {
    this.latestReads += 1;
    await Promise.resolve();
    return this.rows.at(-1)?.id ?? 0;
  }
  /** Ids leave gaps, as those of a sequence do that other feeds share. */
  insert(count = 1): void {
    for (let i = 0; i < count; i += 1) this.rows.push({ id: (this.rows.at(-1)?.id ?? 0) + 1 + (this.rows.length % 3) });
  }
  idsAfter(afterId: number): number[] {
    return this.rows.map((row) => row.id).filter((id) => id > afterId);
  }
}

function setUp() {
  const broker = new LocalBroker();
  return { broker, table: new Table(), feeds: new Feeds(broker) };
}

/** Reads until it is stopped, or until it has seen `limit` rows. */
class Reader {
  readonly seen: number[] = [];
  readonly #abort = new AbortController();
  readonly done: Promise<void>;
  constructor(feeds: Feeds, source: FeedSource<FeedRow>, afterId = 0, limit = Number.POSITIVE_INFINITY) {
    this.done = this.#read(feeds, source, afterId, limit);
  }
  async #read(feeds: Feeds, source: FeedSource<FeedRow>, afterId: number, limit: number): Promise<void> {
    for await (const row of feeds.follow(source, afterId, this.#abort.signal)) {
      this.seen.push(row.id);
      if (this.seen.length >= limit) return;
    }
  }
  stop(): Promise<void> {
    this.#abort.abort();
    return this.done;
  }
}

async function microtasks(count: number): Promise<void> {
  for (let i = 0; i < count; i += 1) await Promise.resolve();
}

test("whatever the order of inserts, announcements, gaps, readers and leavers, each sees every row once and in order", async () => {
  const step = fc.oneof(
    fc.record({ do: fc.constant("insert" as const), count: fc.integer({ min: 1, max: 700 }) }),
    fc.record({ do: fc.constant("insertQuietly" as const), count: fc.integer({ min: 1, max: 3 }) }),
    fc.record({ do: fc.constant("join" as const), share: fc.double({ min: 0, max: 1, noNaN: true }) }),
    fc.record({ do: fc.constant("resume" as const), reader: fc.nat() }),
    fc.record({ do: fc.constant("gap" as const) }),
    fc.record({ do: fc.constant("wait" as const), microtasks: fc.integer({ min: 0, max: 40 }) }),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 3, maxLength: 25 }), async (steps) => {
      const { broker, table, feeds } = setUp();
      const readers: { from: number; reader: Reader; left: boolean }[] = [];
      const join = (from: number) => readers.push({ from, reader: new Reader(feeds, table, from), left: false });
      for (const action of steps) {
        if (action.do === "insert") {
          table.insert(action.count);
          broker.announce(table.channel);
        } else if (action.do === "insertQuietly") {
          table.insert(action.count);
        } else if (action.do === "join") {
          join(table.rows[Math.floor(action.share * table.rows.length)]?.id ?? 0);
        } else if (action.do === "resume") {
          const old = readers[action.reader % Math.max(1, readers.length)];
          if (!old) continue;
          await old.reader.stop();
          old.left = true;
          join(old.reader.seen.at(-1) ?? old.from);
        } else if (action.do === "gap") {
          broker.tellGap(table.channel);
        } else {
          await microtasks(action.microtasks);
        }
      }
      // The last rows are announced, as every row is at its commit.
      table.insert();
      broker.announce(table.channel);
      const last = table.rows.at(-1)?.id;
      await until("every reader that stayed has the last row", () =>
        readers.every(({ reader, left }) => left || reader.seen.at(-1) === last),
      );
      for (const { from, reader, left } of readers) {
        await reader.stop();
        const expected = table.idsAfter(from);
        expect(reader.seen).toEqual(left ? expected.slice(0, reader.seen.length) : expected);
      }
      expect(broker.countOf(table.channel)).toBe(0);
    }),
    { numRuns: 150 },
  );
});

test("a late joiner gets all that was said before, then what comes", async () => {
  const { broker, table, feeds } = setUp();
  table.insert(1_203);
  const reader = new Reader(feeds, table);
  await until("the past is read", () => reader.seen.length === 1_203);
  table.insert();
  broker.announce(table.channel);
  await until("the new row comes", () => reader.seen.length === 1_204);
  await reader.stop();
  expect(reader.seen).toEqual(table.idsAfter(0));
});

test("a reader that resumes by id gets what came after it and nothing twice", async () => {
  const { table, feeds } = setUp();
  table.insert(10);
  const first = new Reader(feeds, table, 0, 4);
  await first.done;
  const second = new Reader(feeds, table, first.seen.at(-1));
  await until("the rest is read", () => first.seen.length + second.seen.length === 10);
  await second.stop();
  expect([...first.seen, ...second.seen]).toEqual(table.idsAfter(0));
});

test("a reader that saw rows in another process gets none of them twice from a feed that has not heard of them yet", async () => {
  const { broker, table, feeds } = setUp();
  table.insert(3);
  const here = new Reader(feeds, table);
  await until("this process has read three rows", () => here.seen.length === 3);
  // Two more are committed; their announcement is still on its way to this process.
  table.insert(2);
  const moved = new Reader(feeds, table, table.rows.at(-1)?.id);
  await microtasks(50);
  broker.announce(table.channel);
  await until("the feed has caught up", () => here.seen.length === 5);
  table.insert();
  broker.announce(table.channel);
  await until("the newest row comes", () => moved.seen.length > 0 && here.seen.length === 6);
  await Promise.all([here.stop(), moved.stop()]);
  expect(moved.seen).toEqual([table.rows.at(-1)?.id]);
});

test("a made-up last id beyond every row gets new rows, and spoils nothing for the others", async () => {
  const { broker, table, feeds } = setUp();
  table.insert(5);
  const honest = new Reader(feeds, table);
  const bogus = new Reader(feeds, table, Number.MAX_SAFE_INTEGER);
  await until("the honest reader is up to date", () => honest.seen.length === 5);
  table.insert();
  broker.announce(table.channel);
  await until("both get the new row", () => honest.seen.length === 6 && bogus.seen.length === 1);
  await Promise.all([honest.stop(), bogus.stop()]);
  expect(honest.seen).toEqual(table.idsAfter(0));
  expect(bogus.seen).toEqual([table.rows.at(-1)?.id]);
});

test("a slow reader that the cache has left behind goes on from the table", async () => {
  const { broker, table, feeds } = setUp();
  const fast = new Reader(feeds, table);
  const abort = new AbortController();
  const slow = feeds.follow(table, 0, abort.signal);
  table.insert();
  broker.announce(table.channel);
  const seen = [(await slow.next()).value?.id];
  // More than the cache keeps, while the slow reader is busy with its first row.
  for (let round = 0; round < 10; round += 1) {
    table.insert(600);
    broker.announce(table.channel);
    await until("the fast reader has them", () => fast.seen.length === table.rows.length);
  }
  const before = table.reads;
  while (seen.length < table.rows.length) seen.push((await slow.next()).value?.id);
  expect(seen).toEqual(table.idsAfter(0));
  expect(table.reads).toBeGreaterThan(before);
  abort.abort();
  expect((await slow.next()).done).toBe(true);
  await fast.stop();
});

test("two hundred readers cost no more queries than one", async () => {
  const costOf = async (count: number) => {
    const { broker, table, feeds } = setUp();
    const readers = Array.from({ length: count }, () => new Reader(feeds, table));
    await until("all listen", () => table.latestReads > 0);
    for (let round = 1; round <= 10; round += 1) {
      table.insert();
      broker.announce(table.channel);
      await until("all have it", () => readers.every(({ seen }) => seen.length === round));
    }
    expect(broker.countOf(table.channel)).toBe(1);
    await Promise.all(readers.map((reader) => reader.stop()));
    return { reads: table.reads, latestReads: table.latestReads };
  };
  expect(await costOf(200)).toEqual(await costOf(1));
});

test("rows whose announcement was lost come when the broker tells of the gap", async () => {
  const { broker, table, feeds } = setUp();
  const reader = new Reader(feeds, table);
  await until("it listens", () => broker.countOf(table.channel) === 1);
  await microtasks(20);
  table.insert(2);
  await microtasks(50);
  expect(reader.seen).toEqual([]);
  broker.tellGap(table.channel);
  await until("the rows come", () => reader.seen.length === 2);
  await reader.stop();
});

test("an announcement whose rows could not be read at first is not forgotten", async () => {
  const { broker, table, feeds } = setUp();
  const reader = new Reader(feeds, table);
  table.insert();
  broker.announce(table.channel);
  await until("the first row comes", () => reader.seen.length === 1);
  table.failures = 1;
  table.insert();
  broker.announce(table.channel);
  await until("the second row comes all the same", () => reader.seen.length === 2);
  await reader.stop();
});

test("a feed that cannot be opened fails its readers, and the next reader begins afresh", async () => {
  const { broker, table, feeds } = setUp();
  const broken = {
    ...{ channel: table.channel, read: table.read.bind(table) },
    latest: () => Promise.reject(new Error("down")),
  };
  const failed = [new Reader(feeds, broken), new Reader(feeds, broken)];
  for (const reader of failed) await expect(reader.done).rejects.toThrow("down");
  expect(broker.countOf(table.channel)).toBe(0);
  table.insert();
  const reader = new Reader(feeds, table);
  await until("the row comes", () => reader.seen.length === 1);
  await reader.stop();
});

test("aborting ends the generator at once and the last reader's leaving ends the subscription", async () => {
  const { broker, table, feeds } = setUp();
  const [one, two] = [new Reader(feeds, table), new Reader(feeds, table)];
  await until("they listen", () => broker.countOf(table.channel) === 1);
  await one.stop();
  expect(broker.countOf(table.channel)).toBe(1);
  await two.stop();
  expect(broker.countOf(table.channel)).toBe(0);
});

test("leaving the loop ends the subscription as well", async () => {
  const { broker, table, feeds } = setUp();
  table.insert(3);
  const reader = new Reader(feeds, table, 0, 1);
  await reader.done;
  expect(reader.seen).toHaveLength(1);
  expect(broker.countOf(table.channel)).toBe(0);
});

test("a reader whose signal is aborted already gets nothing and leaves nothing behind", async () => {
  const { broker, table, feeds } = setUp();
  table.insert();
  const rows: FeedRow[] = [];
  for await (const row of feeds.follow(table, 0, AbortSignal.abort())) rows.push(row);
  expect(rows).toEqual([]);
  expect(broker.countOf(table.channel)).toBe(0);
});
