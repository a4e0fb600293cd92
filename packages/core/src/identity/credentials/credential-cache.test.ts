import { expect, test, vi } from "vitest";
import type { Broker, Listener } from "../../platform/broker.ts";
import { CredentialCache } from "./credential-cache.ts";

/** A broker that a test connects, disconnects and speaks through. */
class SpokenBroker implements Broker {
  connected = true;
  readonly #listeners = new Map<string, Listener>();
  async subscribe(channel: string, listener: Listener): Promise<() => void> {
    this.#listeners.set(channel, listener);
    return () => void this.#listeners.delete(channel);
  }
  get subscriptions(): number {
    return this.#listeners.size;
  }
  speak(): void {
    for (const listener of this.#listeners.values()) listener.message("");
  }
  tellGap(): void {
    for (const listener of this.#listeners.values()) listener.gap();
  }
  async close(): Promise<void> {}
}

async function setUp() {
  const broker = new SpokenBroker();
  let look = 0;
  const load = vi.fn(async () => `look-up ${++look}`);
  return { broker, load, cache: await CredentialCache.open(broker) };
}

test("look-ups of one credential at the same time are one query", async () => {
  const { cache, load } = await setUp();
  const values = await Promise.all(Array.from({ length: 100 }, () => cache.get("key", load)));
  expect(new Set(values)).toEqual(new Set(["look-up 1"]));
  expect(load).toHaveBeenCalledTimes(1);
});

test("an unknown credential is remembered as well, so that guessing costs no queries", async () => {
  const { cache } = await setUp();
  const load = vi.fn(async () => null);
  expect([await cache.get("unknown", load), await cache.get("unknown", load)]).toEqual([null, null]);
  expect(load).toHaveBeenCalledTimes(1);
});

test("credentials are not mixed up", async () => {
  const { cache, load } = await setUp();
  expect([await cache.get("a", load), await cache.get("b", load)]).toEqual(["look-up 1", "look-up 2"]);
});

test("a failed look-up is not remembered", async () => {
  const { cache, load } = await setUp();
  await expect(cache.get("key", () => Promise.reject(new Error("no database")))).rejects.toThrow("no database");
  expect(await cache.get("key", load)).toBe("look-up 1");
});

test("an announced change empties the cache at once", async () => {
  const { cache, broker, load } = await setUp();
  await cache.get("key", load);
  broker.speak();
  expect(await cache.get("key", load)).toBe("look-up 2");
});

test("a look-up that began before the change is not used after it", async () => {
  const { cache, broker, load } = await setUp();
  const gate = Promise.withResolvers<string>();
  const early = cache.get("key", () => gate.promise);
  broker.speak();
  expect(await cache.get("key", load)).toBe("look-up 1");
  gate.resolve("stale");
  await early;
  expect(await cache.get("key", load)).toBe("look-up 1");
});

test("a gap empties the cache, and while the broker is away every request looks anew", async () => {
  const { cache, broker, load } = await setUp();
  await cache.get("key", load);
  broker.connected = false;
  expect([await cache.get("key", load), await cache.get("key", load)]).toEqual(["look-up 2", "look-up 3"]);
  broker.connected = true;
  broker.tellGap();
  expect(await cache.get("key", load)).toBe("look-up 4");
  expect(await cache.get("key", load)).toBe("look-up 4");
});

test("nothing is used for longer than 800 ms, counted from the start of its look-up", async () => {
  const { cache, load } = await setUp();
  const now = vi.spyOn(performance, "now");
  try {
    now.mockReturnValue(10_000);
    await cache.get("key", load);
    now.mockReturnValue(10_799);
    expect(await cache.get("key", load)).toBe("look-up 1");
    now.mockReturnValue(10_800);
    expect(await cache.get("key", load)).toBe("look-up 2");
  } finally {
    now.mockRestore();
  }
});

test("the cache is bounded: the oldest entries make room", async () => {
  const { cache, load } = await setUp();
  await cache.get("first", load);
  for (let i = 0; i < 20_000; i += 1) await cache.get(`key ${i}`, async () => null);
  expect(await cache.get("first", load)).toBe("look-up 2");
});

test("a closed cache hears nothing more", async () => {
  const { cache, broker } = await setUp();
  cache.close();
  expect(broker.subscriptions).toBe(0);
});
