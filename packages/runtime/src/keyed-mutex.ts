/** Lets one piece of work at a time run per key, in the order of arrival. */
export class KeyedMutex {
  readonly #tails = new Map<string, Promise<void>>();

  /** Runs `work` when its turn comes. Rejects with the signal's reason when aborted while waiting. */
  async run<T>(key: string, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    const before = this.#tails.get(key) ?? Promise.resolve();
    const turn = Promise.withResolvers<void>();
    const tail = before.then(() => turn.promise);
    this.#tails.set(key, tail);
    try {
      await unlessAborted(before, signal);
      return await work();
    } finally {
      turn.resolve();
      // Only once those before it are done too: an aborted wait ends earlier than they do.
      void tail.then(() => {
        if (this.#tails.get(key) === tail) this.#tails.delete(key);
      });
    }
  }
}

async function unlessAborted(wait: Promise<void>, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted();
  const aborted = Promise.withResolvers<never>();
  const onAbort = () => aborted.reject(signal.reason);
  signal.addEventListener("abort", onAbort, { once: true });
  try {
    await Promise.race([wait, aborted.promise]);
  } finally {
    signal.removeEventListener("abort", onAbort);
  }
}
