import { lookup as systemLookup } from "node:dns/promises";
import { ConnectionPool } from "./connection-pool.ts";
import { type HostLookup, HostResolver } from "./host-resolver.ts";
import { parseTarget, type Target, type TargetRules } from "./parse-target.ts";
import type { DeliveryRequest, ReceiverConnection } from "./receiver-connection.ts";
import { SendFailure, toSendFailure } from "./send-failure.ts";
import { type SendOutcome, SendProgress } from "./send-progress.ts";

export interface WebhookSenderOptions extends TargetRules {
  /** From the look-up of the host to the last byte of the answer, waiting for a free connection included. */
  timeoutMs: number;
  /** Of a body no more is read and kept; 4 KB unless given. */
  maxResponseBytes?: number;
  /** In place of the system's, for tests. */
  lookup?: HostLookup;
}

export interface WebhookSend {
  url: string;
  /** As `signDelivery` makes them; those that belong to the connection (`Host`, `Content-Length` …) are left out. */
  headers: Record<string, string>;
  body: Buffer;
  signal?: AbortSignal | undefined;
}

const DEFAULT_MAX_RESPONSE_BYTES = 4 * 1024;
const POOL_LIMITS = { maxActivePerOrigin: 64, maxActive: 512, maxIdle: 128 };

/**
 * Sends deliveries to receivers that nobody vouches for: to addresses that were checked and to no others, under one
 * deadline, reading a bounded answer, following no redirect, using no proxy and no cookie. A process needs one.
 */
export class WebhookSender {
  readonly #rules: TargetRules;
  readonly #timeoutMs: number;
  readonly #maxResponseBytes: number;
  readonly #resolver: HostResolver;
  readonly #pool = new ConnectionPool(POOL_LIMITS);
  readonly #underWay = new Set<AbortController>();
  #closed = false;

  constructor(options: WebhookSenderOptions) {
    const { allowPrivateNetworks, requireHttps, timeoutMs, maxResponseBytes, lookup } = options;
    this.#rules = { allowPrivateNetworks, requireHttps };
    this.#timeoutMs = timeoutMs;
    this.#maxResponseBytes = maxResponseBytes ?? DEFAULT_MAX_RESPONSE_BYTES;
    this.#resolver = new HostResolver({ lookup: lookup ?? systemLookup, allowPrivateNetworks });
  }

  /** Never rejects: whatever goes wrong is in the outcome. A delivery was accepted when `error` is null and the status 2xx. */
  async send({ url, headers, body, signal }: WebhookSend): Promise<SendOutcome> {
    const progress = new SendProgress();
    const ending = new AbortController();
    const onAbort = () => ending.abort(new SendFailure("aborted", "The delivery was called off."));
    const timer = setTimeout(() => ending.abort(timeoutFailure(this.#timeoutMs, progress)), this.#timeoutMs);
    signal?.addEventListener("abort", onAbort, { once: true });
    if (signal?.aborted || this.#closed) onAbort();
    this.#underWay.add(ending);
    try {
      await this.#deliver(url, { headers, body }, progress, ending.signal);
      return progress.outcome(null);
    } catch (error) {
      return progress.outcome(toSendFailure(error));
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener("abort", onAbort);
      this.#underWay.delete(ending);
    }
  }

  /** Calls off what is under way and closes all connections. Sends from now on are `aborted`. */
  close(): void {
    this.#closed = true;
    for (const ending of this.#underWay) ending.abort(new SendFailure("aborted", "The sender was closed."));
    this.#pool.close();
  }

  async #deliver(
    url: string,
    { headers, body }: Omit<DeliveryRequest, "path">,
    progress: SendProgress,
    signal: AbortSignal,
  ): Promise<void> {
    const target = parseTarget(url, this.#rules);
    let connection = await this.#pool.take(target.origin, signal);
    try {
      connection ??= await this.#connectionTo(target);
      await connection.post({ path: target.path, headers, body }, this.#maxResponseBytes, progress, signal);
    } finally {
      this.#pool.release(target.origin, connection);
    }
  }

  async #connectionTo(target: Target): Promise<ReceiverConnection> {
    // The HTTP client takes 26 MB and 150 ms to load, which a process that delivers nothing can do without.
    const { ReceiverConnection } = await import("./receiver-connection.ts");
    return new ReceiverConnection(target, this.#resolver, (closed) => this.#pool.forget(closed));
  }
}

function timeoutFailure(timeoutMs: number, { phaseText }: SendProgress): SendFailure {
  return new SendFailure("timeout", `There was no complete answer within ${timeoutMs} ms: time ran out ${phaseText}.`);
}
