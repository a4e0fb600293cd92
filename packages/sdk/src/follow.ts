import type { Unsubscribable } from "@trpc/server/observable";
import { toQuaysideError } from "./errors.ts";

interface SubscriptionCallbacks<T> {
  onData(item: T): void;
  onError(error: unknown): void;
  onComplete(): void;
  onStopped?(): void;
}

const MAX_WAITING_ITEMS = 10_000;

/**
 * A tRPC subscription as an async iterable. Leaving the loop, or aborting the signal, ends the subscription. A reader
 * that falls 10,000 items behind gets an error and can resume by the last id.
 */
export async function* follow<T>(
  subscribe: (callbacks: SubscriptionCallbacks<T>) => Unsubscribable,
  signal?: AbortSignal,
): AsyncGenerator<T> {
  const waiting: T[] = [];
  let ended = false;
  let failure: unknown = null;
  let wake = Promise.withResolvers<void>();
  const finish = (error: unknown) => {
    failure ??= error;
    ended = true;
    wake.resolve();
  };
  const subscription = subscribe({
    onData(item) {
      if (ended) return;
      waiting.push(item);
      if (waiting.length > MAX_WAITING_ITEMS)
        finish(new Error("The reader fell too far behind; resume by the last id."));
      wake.resolve();
    },
    onError: finish,
    onComplete: () => finish(null),
    onStopped: () => finish(null),
  });
  const abort = () => finish(null);
  signal?.addEventListener("abort", abort, { once: true });
  if (signal?.aborted) abort();
  try {
    for (;;) {
      while (waiting.length > 0 && !signal?.aborted) yield waiting.shift() as T;
      if (failure) throw toQuaysideError(failure);
      if (ended) return;
      await wake.promise;
      wake = Promise.withResolvers<void>();
    }
  } finally {
    signal?.removeEventListener("abort", abort);
    subscription.unsubscribe();
  }
}
