import type { Context } from "../../platform/context.ts";
import { type ClaimedDelivery, claimDeliveries, giveBackDeliveries } from "./claim-deliveries.ts";

/** A lease is this much longer than the longest request. */
const LEASE_SLACK_MS = 15_000;
/** Less than this much of the lease left is not enough to begin a request. */
const LEASE_MARGIN_MS = 2_000;
const FIRST_CLAIM = 100;
const LARGEST_CLAIM = 500;
/** Claims that are used up sooner get larger, and others are fetched before they are needed. */
const QUICK_MS = 250;

interface Batch {
  deliveries: ClaimedDelivery[];
  /** So many of them were taken. */
  taken: number;
  claimedAt: number;
  leasedUntil: number;
}

/** Deliveries of one endpoint that this process has claimed and not begun. */
export class ClaimQueue {
  readonly #ctx: Context;
  readonly #endpointId: string;
  #batch: Batch = { deliveries: [], taken: 0, claimedAt: 0, leasedUntil: 0 };
  #ahead: Promise<Batch> | null = null;
  #size = FIRST_CLAIM;
  #mayHaveMore = true;

  constructor(ctx: Context, endpointId: string) {
    this.#ctx = ctx;
    this.#endpointId = endpointId;
  }

  get length(): number {
    return this.#batch.deliveries.length - this.#batch.taken;
  }

  /** Something may be due that is not claimed: the last claim was a full one, or the endpoint was woken since. */
  get mayHaveMore(): boolean {
    return this.#mayHaveMore || this.#ahead !== null;
  }

  wake(): void {
    this.#mayHaveMore = true;
  }

  /** So little is left of the lease that another process could send the same. */
  get isStale(): boolean {
    return this.#batch.leasedUntil - this.#nowMs() < this.#ctx.config.WEBHOOK_TIMEOUT_MS + LEASE_MARGIN_MS;
  }

  take(count: number): ClaimedDelivery[] {
    const { deliveries, taken } = this.#batch;
    this.#batch.taken = Math.min(taken + count, deliveries.length);
    return deliveries.slice(taken, taken + count);
  }

  /** Claims up to `most`. Returns the time up to which everything that was due is claimed, or was before. */
  async refill(most: number): Promise<number> {
    const isQuick = this.#nowMs() - this.#batch.claimedAt < QUICK_MS;
    const limit = Math.min(most, this.#size);
    const claim = this.#ahead ?? this.#claim(limit);
    this.#ahead = null;
    this.#batch = await claim;
    if (isQuick && most >= this.#size) {
      this.#size = Math.min(this.#size * 2, LARGEST_CLAIM);
      if (this.#mayHaveMore) {
        this.#ahead = this.#claim(this.#size);
        // It is waited for later.
        this.#ahead.catch(() => {});
      }
    } else this.#size = FIRST_CLAIM;
    return this.#batch.claimedAt;
  }

  /** What was not begun is due again at once. */
  async giveBack(): Promise<void> {
    const left = this.take(this.length);
    const ahead = await this.#ahead?.catch(() => null);
    this.#ahead = null;
    const all = [...left, ...(ahead?.deliveries ?? [])];
    if (all.length > 0) this.#mayHaveMore = true;
    await giveBackDeliveries(this.#ctx, this.#endpointId, all);
  }

  /** A full claim leaves more, for all that is known. */
  async #claim(limit: number): Promise<Batch> {
    const claimedAt = this.#nowMs();
    const leaseMs = this.#ctx.config.WEBHOOK_TIMEOUT_MS + LEASE_SLACK_MS;
    this.#mayHaveMore = false;
    try {
      const deliveries = await claimDeliveries(this.#ctx, this.#endpointId, limit, leaseMs);
      if (deliveries.length === limit) this.#mayHaveMore = true;
      return { deliveries, taken: 0, claimedAt, leasedUntil: claimedAt + leaseMs };
    } catch (error) {
      this.#mayHaveMore = true;
      throw error;
    }
  }

  #nowMs(): number {
    return this.#ctx.clock.now().getTime();
  }
}
