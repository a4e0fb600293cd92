import type { Context } from "../../platform/context.ts";
import type { WebhookSender } from "../sending/webhook-sender.ts";
import { EndpointLane } from "./endpoint-lane.ts";

const ENDPOINT_LIMIT = 20;
const ORGANIZATION_LIMIT = 60;
const PROCESS_LIMIT = 300;
const FIRST_FAULT_PAUSE_MS = 1_000;
const LONGEST_FAULT_PAUSE_MS = 60_000;
const LONGEST_TIMER_MS = 60_000;

/** Steps at which tests let a worker die. */
export type DeliveryStep = "claimed" | "sent" | "recorded";

export interface PumpOptions {
  sender: WebhookSender;
  /** Told of each step; does nothing in a real installation. */
  onStep?: ((step: DeliveryStep) => Promise<void>) | undefined;
}

/**
 * Sends what is due from this process. Each endpoint has a lane of its own, with at most 20 requests at once; an
 * organization has at most 60 and the process 300, so that a receiver that hangs holds up nobody else.
 */
export class WebhookPump {
  readonly ctx: Context;
  readonly sender: WebhookSender;
  readonly onStep: (step: DeliveryStep) => Promise<void>;
  readonly #lanes = new Map<string, EndpointLane>();
  /** How often in a row the lane of an endpoint broke off. */
  readonly #faults = new Map<string, number>();
  readonly #timers = new Map<string, NodeJS.Timeout>();
  readonly #byOrganization = new Map<string, number>();
  readonly #abort = new AbortController();
  #inFlight = 0;
  #stopping = false;
  #freed = Promise.withResolvers<void>();

  constructor(ctx: Context, options: PumpOptions) {
    this.ctx = ctx;
    this.sender = options.sender;
    this.onStep = options.onStep ?? (() => Promise.resolve());
  }

  /** Looks for what is due to an endpoint. Returns at once; a lane that works already looks once more. */
  wake(endpointId: string): void {
    if (this.#stopping) return;
    const present = this.#lanes.get(endpointId);
    if (present) {
      present.wake();
      return;
    }
    const lane = new EndpointLane(this, endpointId);
    this.#lanes.set(endpointId, lane);
    void lane.run().then((complete) => {
      this.#lanes.delete(endpointId);
      if (!complete) this.#wakeAfterFault(endpointId);
      else {
        this.#faults.delete(endpointId);
        // Woken between its last look and its end.
        if (lane.woken) this.wake(endpointId);
      }
    });
  }

  /** From memory: what broke the lane may well be that the database, and with it the job queue, is away. */
  #wakeAfterFault(endpointId: string): void {
    const faults = (this.#faults.get(endpointId) ?? 0) + 1;
    this.#faults.set(endpointId, faults);
    this.wakeIn(endpointId, Math.min(FIRST_FAULT_PAUSE_MS * 2 ** (faults - 1), LONGEST_FAULT_PAUSE_MS));
  }

  /** Wakes more exactly than the job queue, which looks every two seconds for what has become due. At most a minute. */
  wakeIn(endpointId: string, delayMs: number): void {
    if (this.#stopping || delayMs > LONGEST_TIMER_MS) return;
    clearTimeout(this.#timers.get(endpointId));
    const timer = setTimeout(
      () => {
        this.#timers.delete(endpointId);
        this.wake(endpointId);
      },
      Math.max(0, delayMs),
    );
    this.#timers.set(endpointId, timer.unref());
  }

  /** Nothing new is sent; what is under way gets `graceMs` to end and is then cut off. */
  async stop(graceMs: number): Promise<void> {
    this.#stopping = true;
    const timer = setTimeout(() => this.#abort.abort(), graceMs);
    for (const retry of this.#timers.values()) clearTimeout(retry);
    for (const lane of this.#lanes.values()) lane.wake();
    await Promise.all([...this.#lanes.values()].map((lane) => lane.done));
    clearTimeout(timer);
  }

  get stopping(): boolean {
    return this.#stopping;
  }

  /** Cuts off requests when the process has no more time. */
  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  /** How many more requests an endpoint may begin. */
  room(organizationId: string, ofEndpoint: number): number {
    const ofOrganization = this.#byOrganization.get(organizationId) ?? 0;
    return Math.min(ENDPOINT_LIMIT - ofEndpoint, ORGANIZATION_LIMIT - ofOrganization, PROCESS_LIMIT - this.#inFlight);
  }

  enter(organizationId: string): void {
    this.#inFlight += 1;
    this.#byOrganization.set(organizationId, (this.#byOrganization.get(organizationId) ?? 0) + 1);
  }

  leave(organizationId: string): void {
    this.#inFlight -= 1;
    const left = (this.#byOrganization.get(organizationId) ?? 1) - 1;
    if (left > 0) this.#byOrganization.set(organizationId, left);
    else this.#byOrganization.delete(organizationId);
    const freed = this.#freed;
    this.#freed = Promise.withResolvers<void>();
    freed.resolve();
  }

  /** Resolves when a request of any endpoint has ended. */
  get roomFreed(): Promise<void> {
    return this.#freed.promise;
  }
}
