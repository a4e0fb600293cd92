/** The same numbers for the same seed, on every machine (mulberry32). */
export class SeededRandom {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  /** From 0 up to, but not including, 1. */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let mixed = this.#state;
    mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }

  /** A whole number from least to most. */
  between(least: number, most: number): number {
    return least + Math.floor(this.next() * (most - least + 1));
  }

  chance(probability: number): boolean {
    return this.next() < probability;
  }

  pick<T>(values: readonly T[]): T {
    return this.#at(values, this.next());
  }

  /** Prefers what stands further up, as names and cities are spread. */
  pickCommon<T>(values: readonly T[]): T {
    return this.#at(values, this.next() ** 1.7);
  }

  #at<T>(values: readonly T[], position: number): T {
    const value = values[Math.floor(position * values.length)];
    if (value === undefined) throw new RangeError("There is nothing to pick from.");
    return value;
  }
}
