import { expect, test } from "vitest";
import { QuaysideError } from "./errors.ts";
import { follow } from "./follow.ts";

type Callbacks = Parameters<Parameters<typeof follow<number>>[0]>[0];

function source() {
  const state: { callbacks: Callbacks | null; unsubscribed: number } = { callbacks: null, unsubscribed: 0 };
  const subscribe = (callbacks: Callbacks) => {
    state.callbacks = callbacks;
    const unsubscribe = () => {
      state.unsubscribed += 1;
    };
    return { unsubscribe };
  };
  return { state, subscribe };
}

test("items come in order, those that waited first, and completion ends the loop", async () => {
  const { state, subscribe } = source();
  const seen: number[] = [];
  const reading = (async () => {
    for await (const item of follow(subscribe)) seen.push(item);
  })();
  for (let i = 0; i < 5; i += 1) state.callbacks?.onData(i);
  await Promise.resolve();
  state.callbacks?.onData(5);
  state.callbacks?.onComplete();
  await reading;
  expect(seen).toEqual([0, 1, 2, 3, 4, 5]);
  expect(state.unsubscribed).toBe(1);
});

test("an error is thrown as a QuaysideError after the items that came before it", async () => {
  const { state, subscribe } = source();
  const items = follow(subscribe);
  const first = items.next();
  state.callbacks?.onData(1);
  state.callbacks?.onError(new Error("broken"));
  expect(await first).toEqual({ done: false, value: 1 });
  await expect(items.next()).rejects.toBeInstanceOf(QuaysideError);
  expect(state.unsubscribed).toBe(1);
});

test("leaving the loop unsubscribes", async () => {
  const { state, subscribe } = source();
  const items = follow(subscribe);
  const first = items.next();
  state.callbacks?.onData(1);
  await first;
  await items.return(undefined);
  expect(state.unsubscribed).toBe(1);
});

test("aborting ends a loop that waits, and one that has not begun", async () => {
  const { state, subscribe } = source();
  const abort = new AbortController();
  const waiting = follow(subscribe, abort.signal).next();
  abort.abort();
  expect((await waiting).done).toBe(true);
  expect((await follow(subscribe, abort.signal).next()).done).toBe(true);
  expect(state.unsubscribed).toBe(2);
});

test("a reader that falls 10,000 items behind is told so, with nothing kept beyond", async () => {
  const { state, subscribe } = source();
  const items = follow(subscribe);
  const first = items.next();
  for (let i = 0; i < 20_000; i += 1) state.callbacks?.onData(i);
  await first;
  let read = 1;
  const failure = await (async () => {
    try {
      for await (const _ of items) read += 1;
      return null;
    } catch (error) {
      return error;
    }
  })();
  expect(failure).toBeInstanceOf(QuaysideError);
  expect(String(failure)).toContain("too far behind");
  expect(read).toBeLessThanOrEqual(10_001);
});
