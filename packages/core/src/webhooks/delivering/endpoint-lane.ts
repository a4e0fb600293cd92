import type { SendOutcome } from "../sending/send-progress.ts";
import { signDelivery } from "../sending/sign-delivery.ts";
import { bodyOf, isAccepted, resultOf } from "./attempt-result.ts";
import {
  type ClaimedDelivery,
  type ClaimedEndpoint,
  cutOffDeliveries,
  pauseEndpoint,
  readSendableEndpoint,
} from "./claim-deliveries.ts";
import { ClaimQueue } from "./claim-queue.ts";
import { Pace } from "./pace.ts";
import { ResultRecorder } from "./result-recorder.ts";
import { wakeForNext } from "./wake-endpoints.ts";
import type { WebhookPump } from "./webhook-pump.ts";

const CLAIM_OF_THE_SLOW = 20;
const LONGEST_NAP_MS = 1_000;
/** The endpoint is read anew this often: a changed URL or secret counts at the next send. */
const REREAD_MS = 200;
/** So many requests in a row without any answer, and the endpoint rests. After a rest the first one decides. */
const HANGS_BEFORE_REST = 20;
const LONGEST_REST_MS = 15 * 60_000;

/** What is due to one endpoint, sent by this process until nothing is left. */
export class EndpointLane {
  readonly #pump: WebhookPump;
  readonly #endpointId: string;
  readonly #finished = Promise.withResolvers<void>();
  readonly #recorder: ResultRecorder;
  #woken = false;
  /** When retries of this lane are due, in no order. */
  #retries: number[] = [];
  readonly #queue: ClaimQueue;
  #cutOff: ClaimedDelivery[] = [];
  #inFlight = 0;
  #hangs = 0;
  /** Nothing has been answered since a rest. */
  #probing = false;
  /** The receiver asked to be left alone until then. */
  #askedUntil = 0;
  #pace: Pace | null = null;
  #storedPace: number | null = null;
  #endpoint: ClaimedEndpoint | null = null;
  #readAt = 0;
  #change = Promise.withResolvers<void>();

  constructor(pump: WebhookPump, endpointId: string) {
    this.#pump = pump;
    this.#endpointId = endpointId;
    this.#queue = new ClaimQueue(pump.ctx, endpointId);
    this.#recorder = new ResultRecorder(pump.ctx, endpointId, {
      isEnding: () => pump.stopping,
      onStored: (results) => {
        this.#retries.push(...results.flatMap(({ nextAttemptAt }) => (nextAttemptAt ? [nextAttemptAt.getTime()] : [])));
        this.#signal();
        return pump.onStep("recorded");
      },
    });
  }

  get woken(): boolean {
    return this.#woken;
  }

  get done(): Promise<void> {
    return this.#finished.promise;
  }

  wake(): void {
    this.#woken = true;
    this.#queue.wake();
    this.#signal();
  }

  /** Never rejects. False when it broke off, so that it should be tried again. */
  async run(): Promise<boolean> {
    try {
      await this.#drain();
      return true;
    } catch (error) {
      const fields = { err: error, endpointId: this.#endpointId };
      this.#pump.ctx.log.error(fields, "deliveries of an endpoint stopped; they are tried again");
      return false;
    } finally {
      await this.#settle();
      // Where this fails too, the leases run out.
      await this.#queue.giveBack().catch(() => {});
      this.#finished.resolve();
    }
  }

  async #drain(): Promise<void> {
    while (!this.#pump.stopping) {
      if (await this.#rest()) break;
      if (this.#queue.length === 0 && !this.#mayBeDue()) {
        if (this.#isIdle) break;
        await this.#changed();
        continue;
      }
      const endpoint = await this.#readEndpoint();
      if (!endpoint) break;
      if (this.#queue.length === 0) await this.#refill();
      if (this.#queue.length > 0) await this.#sendSome(endpoint);
    }
    await this.#queue.giveBack();
    await this.#settle();
    await this.#rest();
    await cutOffDeliveries(this.#pump.ctx, this.#endpointId, this.#cutOff);
    const nextAt = await wakeForNext(this.#pump.ctx, this.#endpointId, this.#pace?.perSecond);
    if (nextAt !== null) this.#pump.wakeIn(this.#endpointId, nextAt - this.#nowMs());
  }

  /** As it was less than `REREAD_MS` ago; null when nothing may be sent to it. */
  async #readEndpoint(): Promise<ClaimedEndpoint | null> {
    if (this.#endpoint && this.#nowMs() - this.#readAt < REREAD_MS) return this.#endpoint;
    this.#readAt = this.#nowMs();
    this.#endpoint = await readSendableEndpoint(this.#pump.ctx, this.#endpointId);
    if (!this.#endpoint) return null;
    if (!this.#pace) this.#probing = this.#endpoint.rested;
    // Set from outside, or learnt by another process.
    if (!this.#pace || this.#endpoint.pace !== this.#storedPace) {
      this.#pace = new Pace(this.#endpoint.pace, this.#nowMs());
      this.#storedPace = this.#endpoint.pace;
    }
    return this.#endpoint;
  }

  #mayBeDue(): boolean {
    return this.#queue.mayHaveMore || this.#nextRetryAt() <= this.#nowMs();
  }

  #nextRetryAt(): number {
    return this.#retries.reduce((next, at) => Math.min(next, at), Number.POSITIVE_INFINITY);
  }

  get #isIdle(): boolean {
    return this.#inFlight === 0 && this.#recorder.isIdle;
  }

  async #refill(): Promise<void> {
    this.#woken = false;
    const isSlow = this.#hangs > 0 || this.#probing;
    const perSecond = this.#pace?.perSecond ?? Number.POSITIVE_INFINITY;
    const claimedAt = await this.#queue.refill(Math.ceil(Math.min(isSlow ? CLAIM_OF_THE_SLOW : perSecond, perSecond)));
    this.#retries = this.#retries.filter((at) => at > claimedAt);
    if (this.#queue.length > 0) await this.#pump.onStep("claimed");
  }

  /** Begins as many requests as there is room for, or waits until there is. */
  async #sendSome(endpoint: ClaimedEndpoint): Promise<void> {
    if (this.#queue.isStale) {
      await this.#queue.giveBack();
      return;
    }
    const available = this.#pace?.available(this.#nowMs()) ?? 0;
    if (available < 1) {
      await this.#changed(this.#pace?.waitMs(this.#nowMs()));
      return;
    }
    const ofEndpoint = this.#pump.room(endpoint.organizationId, this.#inFlight);
    const room = Math.min(ofEndpoint, available, this.#probing ? 1 - this.#inFlight : Number.POSITIVE_INFINITY);
    if (room < 1) {
      await Promise.race([this.#change.promise, this.#pump.roomFreed]);
      return;
    }
    const deliveries = this.#queue.take(room);
    this.#pace?.sent(deliveries.length);
    for (const delivery of deliveries) void this.#attempt(endpoint, delivery);
  }

  async #attempt(endpoint: ClaimedEndpoint, delivery: ClaimedDelivery): Promise<void> {
    const { ctx, sender, signal, onStep } = this.#pump;
    this.#inFlight += 1;
    this.#pump.enter(endpoint.organizationId);
    try {
      const body = bodyOf(delivery);
      const timestamp = ctx.clock.now();
      const headers = signDelivery({ id: delivery.eventId, timestamp, body, keys: endpoint.keys });
      const outcome = await sender.send({ url: endpoint.url, headers, body, signal });
      await onStep("sent");
      // A request that was cut off because the process ends is as if it had never been.
      if (outcome.error?.class === "aborted") this.#cutOff.push(delivery);
      else {
        this.#learn(outcome);
        const times = { nowMs: this.#nowMs(), retryBaseMs: ctx.config.WEBHOOK_RETRY_BASE_MS };
        this.#recorder.add(resultOf(delivery, outcome, times));
      }
    } catch (error) {
      ctx.log.error({ err: error, deliveryId: delivery.id }, "an attempt broke off; its lease runs out");
    } finally {
      this.#inFlight -= 1;
      this.#pump.leave(endpoint.organizationId);
      this.#signal();
    }
  }

  #learn(outcome: SendOutcome): void {
    const nowMs = this.#nowMs();
    if (outcome.error) {
      this.#hangs += 1;
      return;
    }
    this.#hangs = 0;
    this.#probing = false;
    if (outcome.statusCode === 429 || outcome.statusCode === 503) {
      this.#pace?.refused(nowMs);
      const restMs = Math.min(outcome.retryAfterMs ?? 0, LONGEST_REST_MS);
      this.#askedUntil = Math.max(this.#askedUntil, nowMs + restMs);
    } else if (isAccepted(outcome)) this.#pace?.accepted(nowMs);
  }

  /**
   * True when the endpoint does not answer at all, or asked to be left alone, and is so for a while; what waits keeps
   * its attempts.
   */
  async #rest(): Promise<boolean> {
    const hangs = this.#hangs >= (this.#probing ? 1 : HANGS_BEFORE_REST);
    if (!hangs && this.#askedUntil <= this.#nowMs()) return false;
    await pauseEndpoint(this.#pump.ctx, this.#endpointId, { hangs, until: new Date(this.#askedUntil) });
    this.#hangs = 0;
    return true;
  }

  /** Waits for what is under way and stored. */
  async #settle(): Promise<void> {
    while (this.#inFlight > 0) await this.#change.promise;
    await this.#recorder.settled();
  }

  /** Waits until something has happened or a retry is due, at most `limitMs`. */
  async #changed(limitMs = LONGEST_NAP_MS): Promise<void> {
    const untilRetry = this.#nextRetryAt() - this.#nowMs();
    const { promise: over, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, Math.max(1, Math.min(untilRetry, limitMs)));
    await Promise.race([this.#change.promise, over]);
    clearTimeout(timer);
  }

  #nowMs(): number {
    return this.#pump.ctx.clock.now().getTime();
  }

  #signal(): void {
    const change = this.#change;
    this.#change = Promise.withResolvers<void>();
    change.resolve();
  }
}
