import type { SendOutcome } from "../sending/send-progress.ts";
import { signDelivery } from "../sending/sign-delivery.ts";
import {
  type ClaimedDelivery,
  type ClaimedEndpoint,
  claimDeliveries,
  giveBackDeliveries,
  readSendableEndpoint,
} from "./claim-deliveries.ts";
import { Pace } from "./pace.ts";
import { type AttemptResult, recordAttempts } from "./record-attempts.ts";
import { MAX_ATTEMPTS, retryDelay } from "./retry-delay.ts";
import { wakeEndpointAt } from "./wake-endpoints.ts";
import type { WebhookPump } from "./webhook-pump.ts";

/** A lease is this much longer than the longest request. */
const LEASE_SLACK_MS = 15_000;
/** Less than this much of the lease left is not enough to begin a request. */
const LEASE_MARGIN_MS = 2_000;
const CLAIM = 100;
const CLAIM_OF_THE_SLOW = 20;
const LONGEST_NAP_MS = 1_000;
/** Results that come in this time are stored together. */
const GATHER_MS = 5;
/** The endpoint is read anew this often: a changed URL or secret counts at the next send. */
const REREAD_MS = 200;
/** So many requests in a row without any answer, and the endpoint rests. */
const HANGS_BEFORE_PAUSE = 20;
const FIRST_PAUSE_MS = 30_000;
const LONGEST_PAUSE_MS = 15 * 60_000;
const FAULT_PAUSE_MS = 1_000;

/** What is due to one endpoint, sent by this process until nothing is left. */
export class EndpointLane {
  readonly #pump: WebhookPump;
  readonly #endpointId: string;
  readonly #finished = Promise.withResolvers<void>();
  #woken = false;
  #queue: ClaimedDelivery[] = [];
  #leasedUntil = 0;
  #inFlight = 0;
  #hangs = 0;
  #pauses = 0;
  #pace: Pace | null = null;
  #results: AttemptResult[] = [];
  #recording: Promise<void> = Promise.resolve();
  #change = Promise.withResolvers<void>();

  constructor(pump: WebhookPump, endpointId: string) {
    this.#pump = pump;
    this.#endpointId = endpointId;
  }

  get woken(): boolean {
    return this.#woken;
  }

  get done(): Promise<void> {
    return this.#finished.promise;
  }

  wake(): void {
    this.#woken = true;
    this.#signal();
  }

  async run(): Promise<void> {
    try {
      await this.#drain();
    } catch (error) {
      const { log } = this.#pump.ctx;
      log.error(
        { err: error, endpointId: this.#endpointId },
        "deliveries of an endpoint stopped; they are tried again",
      );
      await this.#scheduleAt(this.#nowMs() + FAULT_PAUSE_MS).catch(() => {});
    } finally {
      await this.#settle();
      this.#finished.resolve();
    }
  }

  async #drain(): Promise<void> {
    let endpoint: ClaimedEndpoint | null = null;
    let readAt = 0;
    while (!this.#pump.stopping) {
      if (!endpoint || this.#nowMs() - readAt >= REREAD_MS) {
        endpoint = await readSendableEndpoint(this.#pump.ctx, this.#endpointId);
        readAt = this.#nowMs();
      }
      if (!endpoint) break;
      this.#pace ??= new Pace(endpoint.pace, this.#nowMs());
      if (this.#queue.length === 0) await this.#refill();
      if (this.#queue.length > 0) {
        await this.#sendSome(endpoint);
        if (await this.#rest()) break;
        continue;
      }
      if (this.#woken) continue;
      if (this.#inFlight === 0) break;
      // What fails meanwhile is due later; what is new wakes the lane.
      await this.#change.promise;
    }
    await this.#giveBack();
    await this.#settle();
    if (!this.#pump.stopping) await this.#scheduleNext();
  }

  /** Claims more than can be sent at once where that goes fast, so that a claim serves many deliveries. */
  async #refill(): Promise<void> {
    this.#woken = false;
    const { ctx } = this.#pump;
    const leaseMs = ctx.config.WEBHOOK_TIMEOUT_MS + LEASE_SLACK_MS;
    const available = this.#pace?.available(this.#nowMs()) ?? 0;
    const limit = Math.min(this.#hangs > 0 ? CLAIM_OF_THE_SLOW : CLAIM, Math.max(1, available));
    this.#leasedUntil = this.#nowMs() + leaseMs;
    this.#queue = await claimDeliveries(ctx, this.#endpointId, limit, leaseMs);
    if (this.#queue.length > 0) await this.#pump.onStep("claimed");
  }

  /** Begins as many requests as there is room for, or waits until there is. */
  async #sendSome(endpoint: ClaimedEndpoint): Promise<void> {
    // Nearly at the end of the lease another process could send the same.
    if (this.#leasedUntil - this.#nowMs() < this.#pump.ctx.config.WEBHOOK_TIMEOUT_MS + LEASE_MARGIN_MS) {
      await this.#giveBack();
      return;
    }
    const available = this.#pace?.available(this.#nowMs()) ?? 0;
    if (available < 1) {
      await pause(Math.min(this.#pace?.waitMs(this.#nowMs()) ?? 0, LONGEST_NAP_MS));
      return;
    }
    const room = Math.min(this.#pump.room(endpoint.organizationId, this.#inFlight), available);
    if (room < 1) {
      await Promise.race([this.#change.promise, this.#pump.roomFreed]);
      return;
    }
    const deliveries = this.#queue.splice(0, room);
    this.#pace?.sent(deliveries.length);
    for (const delivery of deliveries) void this.#attempt(endpoint, delivery);
  }

  /** What was claimed and not begun is due again at once. */
  async #giveBack(): Promise<void> {
    const queue = this.#queue;
    this.#queue = [];
    await giveBackDeliveries(this.#pump.ctx, queue);
  }

  async #attempt(endpoint: ClaimedEndpoint, delivery: ClaimedDelivery): Promise<void> {
    this.#inFlight += 1;
    this.#pump.enter(endpoint.organizationId);
    try {
      const body = bodyOf(delivery);
      const timestamp = this.#pump.ctx.clock.now();
      const headers = signDelivery({ id: delivery.eventId, timestamp, body, secrets: endpoint.secrets });
      const outcome = await this.#pump.sender.send({ url: endpoint.url, headers, body, signal: this.#pump.signal });
      await this.#pump.onStep("sent");
      this.#learn(outcome);
      // A request that was cut off because the process ends is as if it had never been; its lease runs out.
      if (outcome.error?.class !== "aborted")
        this.#record(resultOf(delivery, outcome, this.#retryAt(delivery, outcome)));
    } catch (error) {
      this.#pump.ctx.log.error({ err: error, deliveryId: delivery.id }, "an attempt broke off; its lease runs out");
    } finally {
      this.#inFlight -= 1;
      this.#pump.leave(endpoint.organizationId);
      this.#signal();
    }
  }

  #learn(outcome: SendOutcome): void {
    const nowMs = this.#nowMs();
    const { statusCode } = outcome;
    if (statusCode === 429 || statusCode === 503) this.#pace?.refused(nowMs);
    else if (statusCode !== null && statusCode < 300) this.#pace?.accepted(nowMs);
    this.#hangs = statusCode === null ? this.#hangs + 1 : 0;
    if (statusCode !== null) this.#pauses = 0;
  }

  #retryAt(delivery: ClaimedDelivery, outcome: SendOutcome): Date | null {
    if (isSuccess(outcome) || delivery.attempt >= delivery.maxAttempts) return null;
    // Attempts that broke off, and those before a resend, raised the maximum; they do not count.
    const failures = delivery.attempt - (delivery.maxAttempts - MAX_ATTEMPTS);
    const delay = retryDelay(failures, this.#pump.ctx.config.WEBHOOK_RETRY_BASE_MS, outcome.retryAfterMs);
    return new Date(this.#nowMs() + delay);
  }

  #record(result: AttemptResult): void {
    this.#results.push(result);
    if (this.#results.length > 1) return;
    this.#recording = this.#recording.then(async () => {
      await pause(GATHER_MS);
      const results = this.#results;
      this.#results = [];
      await recordAttempts(this.#pump.ctx, this.#endpointId, results);
      await this.#pump.onStep("recorded");
    });
    this.#recording.catch(() => {});
  }

  /** True when the endpoint does not answer at all and is left alone for a while; what waits keeps its attempts. */
  async #rest(): Promise<boolean> {
    if (this.#hangs < HANGS_BEFORE_PAUSE) return false;
    const ms = Math.min(FIRST_PAUSE_MS * 2 ** this.#pauses, LONGEST_PAUSE_MS);
    this.#pauses += 1;
    this.#hangs = 0;
    const until = new Date(this.#nowMs() + ms);
    await this.#pump.ctx.db.sql`
      UPDATE webhook_endpoints SET paused_until = ${until.toISOString()}::timestamptz WHERE id = ${this.#endpointId}`;
    return true;
  }

  /** Waits for what is under way and stored. */
  async #settle(): Promise<void> {
    while (this.#inFlight > 0) await this.#change.promise;
    await this.#recording;
  }

  /** Has a worker come back when the next attempt is due, and remembers the pace for it. */
  async #scheduleNext(): Promise<void> {
    const { db } = this.#pump.ctx;
    const pace = this.#pace?.perSecond ?? null;
    const [next] = await db.sql<{ at: number | null }[]>`
      WITH learnt AS (UPDATE webhook_endpoints SET pace = ${pace} WHERE id = ${this.#endpointId} AND pace IS DISTINCT FROM ${pace})
      SELECT (extract(epoch FROM greatest(min(d.next_attempt_at), max(w.paused_until))) * 1000)::float8 AS at
      FROM webhook_deliveries d JOIN webhook_endpoints w ON w.id = d.endpoint_id
      WHERE d.endpoint_id = ${this.#endpointId} AND d.status = 'pending' AND w.status = 'enabled'`;
    if (next?.at != null) await this.#scheduleAt(next.at);
  }

  #scheduleAt(ms: number): Promise<void> {
    return wakeEndpointAt(this.#pump.ctx.db, this.#endpointId, new Date(ms));
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

/** The same bytes in every attempt; the id is the event's. */
function bodyOf(delivery: ClaimedDelivery): Buffer {
  const { eventId: id, type, organizationId } = delivery;
  const head = JSON.stringify({ id, type, createdAt: new Date(delivery.occurredAt).toISOString(), organizationId });
  return Buffer.from(`${head.slice(0, -1)},"data":${delivery.data}}`);
}

function isSuccess({ statusCode }: SendOutcome): boolean {
  return statusCode !== null && statusCode >= 200 && statusCode < 300;
}

function resultOf(delivery: ClaimedDelivery, outcome: SendOutcome, nextAttemptAt: Date | null): AttemptResult {
  const { statusCode, durationMs, error, responseBody, truncated, address, timings } = outcome;
  const ended = isSuccess(outcome) ? "delivered" : nextAttemptAt ? "retry" : "failed";
  return {
    deliveryId: delivery.id,
    attempt: delivery.attempt,
    outcome: ended,
    nextAttemptAt,
    statusCode,
    durationMs,
    errorClass: error?.class ?? null,
    error: error?.message ?? (isSuccess(outcome) ? null : `The receiver answered ${statusCode}.`),
    responseBody,
    truncated,
    address,
    timings,
  };
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
