/** Counts what is in flight per release and tells when a release has none left. */
export class InFlight {
  readonly #counts = new Map<string, number>();
  readonly #waiting = new Map<string, Set<() => void>>();

  /** Counts one request. The answer takes it off again; calling it twice does no harm. */
  enter(releaseId: string): () => void {
    this.#counts.set(releaseId, (this.#counts.get(releaseId) ?? 0) + 1);
    let left = false;
    return () => {
      if (left) return;
      left = true;
      this.#leave(releaseId);
    };
  }

  get total(): number {
    let sum = 0;
    for (const count of this.#counts.values()) sum += count;
    return sum;
  }

  /** Resolves with true when the release has nothing in flight, with false after `timeoutMs`. */
  drain(releaseId: string, timeoutMs: number): Promise<boolean> {
    if (!this.#counts.has(releaseId)) return Promise.resolve(true);
    return new Promise((resolve) => {
      const waiting = this.#waiting.get(releaseId) ?? new Set();
      this.#waiting.set(releaseId, waiting);
      const dry = () => {
        clearTimeout(timer);
        resolve(true);
      };
      const timer = setTimeout(() => {
        waiting.delete(dry);
        resolve(false);
      }, timeoutMs);
      waiting.add(dry);
    });
  }

  #leave(releaseId: string): void {
    const count = (this.#counts.get(releaseId) ?? 1) - 1;
    if (count > 0) {
      this.#counts.set(releaseId, count);
      return;
    }
    this.#counts.delete(releaseId);
    const waiting = this.#waiting.get(releaseId) ?? [];
    this.#waiting.delete(releaseId);
    for (const dry of waiting) dry();
  }
}
