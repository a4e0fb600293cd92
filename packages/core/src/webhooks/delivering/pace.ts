const WINDOW_MS = 1_000;
/** After a refusal the pace is this share of what was taken in the last second. */
const BACK_OFF = 0.8;
/** The pace grows by this share a second at first; a receiver refuses little of what comes above its limit. */
const GROWTH_PER_SECOND = 0.01;
/** After this time without a refusal it grows twice as fast, after two of them five times, after three ten times. */
const HASTE_SECONDS = 10;
const MOST_GROWTH_PER_SECOND = 0.5;
const LEAST = 1;
/** Refusals of requests that were under way when the pace was lowered say nothing new. */
const DEAF_MS = 1_000;

/**
 * How fast an endpoint takes deliveries: no limit until it refuses (429, 503), then what it took, growing slowly and
 * lowered again by each refusal. The longer none comes, the faster it grows, so that a receiver that was down for a moment
 * soon has its old pace. Times are Unix milliseconds.
 */
export class Pace {
  #perSecond: number | null;
  #allowance = 1;
  #updatedAt: number;
  #deafUntil = 0;
  /** More was asked for than could be given. */
  #wanting = false;
  /** How long it has been used to the full without a refusal. */
  #heldSeconds = 0;
  #accepted: number[] = [];

  constructor(perSecond: number | null, nowMs: number) {
    this.#perSecond = perSecond;
    this.#updatedAt = nowMs;
  }

  /** Deliveries a second; null without a limit. */
  get perSecond(): number | null {
    return this.#perSecond;
  }

  /** How many may be sent now; asked when something waits. */
  available(nowMs: number): number {
    this.#grow(nowMs);
    this.#wanting = this.#allowance < 1;
    return this.#perSecond === null ? Number.POSITIVE_INFINITY : Math.floor(this.#allowance);
  }

  /** Milliseconds until one may be sent; 0 when that is now. */
  waitMs(nowMs: number): number {
    if (this.available(nowMs) >= 1 || this.#perSecond === null) return 0;
    return Math.ceil(((1 - this.#allowance) / this.#perSecond) * 1_000);
  }

  sent(count: number): void {
    if (this.#perSecond !== null) this.#allowance -= count;
  }

  accepted(nowMs: number): void {
    this.#accepted.push(nowMs);
    this.#forget(nowMs);
  }

  refused(nowMs: number): void {
    if (nowMs < this.#deafUntil) return;
    this.#grow(nowMs);
    this.#forget(nowMs);
    const taken = this.#perSecond === null ? this.#accepted.length : this.#perSecond;
    this.#perSecond = Math.max(LEAST, taken * BACK_OFF);
    this.#allowance = Math.min(this.#allowance, 0);
    this.#heldSeconds = 0;
    this.#deafUntil = nowMs + DEAF_MS;
  }

  #grow(nowMs: number): void {
    const seconds = Math.max(0, nowMs - this.#updatedAt) / 1_000;
    this.#updatedAt = nowMs;
    if (this.#perSecond === null) return;
    // Where less is sent than may be, nothing is learnt from its being taken.
    if (this.#wanting) {
      const heldSeconds = Math.min(seconds, 1);
      const growth = GROWTH_PER_SECOND * (1 + (this.#heldSeconds / HASTE_SECONDS) ** 2);
      this.#perSecond *= (1 + Math.min(growth, MOST_GROWTH_PER_SECOND)) ** heldSeconds;
      this.#heldSeconds += heldSeconds;
    }
    // What was not used is not saved up: a burst would be refused.
    this.#allowance = Math.min(this.#allowance + seconds * this.#perSecond, Math.max(1, this.#perSecond / 20));
  }

  #forget(nowMs: number): void {
    while ((this.#accepted[0] ?? nowMs) <= nowMs - WINDOW_MS) this.#accepted.shift();
  }
}
