import type { Socket } from "node:net";
import { Client, type Dispatcher } from "undici";
import type { HostResolver } from "./host-resolver.ts";
import { openSocket } from "./open-socket.ts";
import type { Target } from "./parse-target.ts";
import { parseRetryAfter } from "./retry-after.ts";
import { SendFailure, toSendFailure } from "./send-failure.ts";
import type { SendProgress } from "./send-progress.ts";

export interface DeliveryRequest {
  path: string;
  headers: Record<string, string>;
  body: Buffer;
}

/** Status line and header section of a response; more is a failure. */
const MAX_HEADER_BYTES = 16 * 1024;
/**
 * What may come over the wire for one response, in whatever form: interim responses, chunk extensions and trailers
 * count nowhere else. Room for one read of the socket past the limits of headers and body.
 */
const MAX_WIRE_BYTES = 256 * 1024;
/** Many servers close an idle connection after 2 to 5 s, and a request sent at that moment would be lost. */
const IDLE_MS = 1_500;
/** For servers that promise more by `Keep-Alive: timeout=`. */
const MAX_IDLE_MS = 30_000;
/** Then the host is looked up and checked anew. */
const MAX_AGE_MS = 60_000;

/** These belong to the connection, not to the delivery. */
const OWN_HEADERS = new Set([
  "accept-encoding",
  "connection",
  "content-length",
  "expect",
  "host",
  "keep-alive",
  "te",
  "transfer-encoding",
  "upgrade",
]);

interface Exchange {
  progress: SendProgress;
  signal: AbortSignal;
}

/** One HTTP/1.1 connection to a receiver, for one request at a time. It connects when the first is sent. */
export class ReceiverConnection {
  readonly origin: string;
  readonly #client: Client;
  #exchange: Exchange | null = null;
  #socket: Socket | null = null;
  #address: string | null = null;
  #openedAt = 0;
  /** Of the socket, before the exchange under way. */
  #bytesReadBefore = 0;

  /** `onClosed` is called when the connection is gone, also while it is idle. */
  constructor(target: Target, resolver: HostResolver, onClosed: (connection: ReceiverConnection) => void) {
    this.origin = target.origin;
    this.#client = new Client(target.origin, {
      connect: (_options, callback) => {
        this.#open(target, resolver).then(
          (socket) => callback(null, socket),
          (error) => callback(error, null),
        );
      },
      pipelining: 1,
      allowH2: false,
      useMilo: false,
      maxHeaderSize: MAX_HEADER_BYTES,
      keepAliveTimeout: IDLE_MS,
      keepAliveMaxTimeout: MAX_IDLE_MS,
      // There is one deadline, the sender's.
      headersTimeout: 0,
      bodyTimeout: 0,
    });
    this.#client.on("disconnect", () => onClosed(this));
  }

  /** Whether another request may be sent: the answer before ended by itself, and the connection is neither closed nor old. */
  get isReusable(): boolean {
    const isOpen = this.#socket !== null && !this.#socket.destroyed && !this.#socket.readableEnded;
    return isOpen && !this.#client.destroyed && performance.now() - this.#openedAt < MAX_AGE_MS;
  }

  close(): void {
    // The promise is that of the socket's end, which nobody waits for.
    this.#client.destroy().catch(() => {});
  }

  /**
   * Sends one POST and reads the answer into the progress, of its body up to `maxResponseBytes`: past that, or when the
   * signal is aborted, the connection is closed. Throws a `SendFailure`, or the signal's reason.
   */
  async post(request: DeliveryRequest, maxResponseBytes: number, progress: SendProgress, signal: AbortSignal) {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const onAbort = () => reject(signal.reason);
    signal.addEventListener("abort", onAbort, { once: true });
    this.#exchange = { progress, signal };
    this.#bytesReadBefore = this.#socket?.bytesRead ?? 0;
    progress.address = this.#address;
    try {
      signal.throwIfAborted();
      this.#client.dispatch(
        { method: "POST", path: request.path, headers: deliveryHeaders(request.headers), body: request.body },
        answerReader(progress, maxResponseBytes, { resolve, reject }),
      );
      await promise;
      if (progress.truncated) this.close();
    } catch (error) {
      this.close();
      throw error;
    } finally {
      signal.removeEventListener("abort", onAbort);
      this.#exchange = null;
    }
  }

  async #open(target: Target, resolver: HostResolver): Promise<Socket> {
    if (!this.#exchange) throw new SendFailure("reset", "The connection was closed.");
    const { progress, signal } = this.#exchange;
    const socket = await openSocket(target, resolver, progress, signal);
    this.#socket = socket;
    this.#address = progress.address;
    this.#openedAt = performance.now();
    this.#bytesReadBefore = 0;
    socket.on("readable", () => {
      if (socket.bytesRead - this.#bytesReadBefore <= MAX_WIRE_BYTES) return;
      socket.destroy(new SendFailure("protocol", `The answer takes more than ${MAX_WIRE_BYTES} bytes on the wire.`));
    });
    return socket;
  }
}

function deliveryHeaders(headers: Record<string, string>): Record<string, string> {
  const kept = Object.entries(headers).filter(([name]) => !OWN_HEADERS.has(name.toLowerCase()));
  // The body is kept as the bytes that come; nothing is ever unpacked.
  return { ...Object.fromEntries(kept), "Accept-Encoding": "identity" };
}

function answerReader(
  progress: SendProgress,
  maxResponseBytes: number,
  { resolve, reject }: { resolve: () => void; reject: (reason: SendFailure) => void },
): Dispatcher.DispatchHandler {
  let sinceSent = () => 0;
  return {
    onRequestStart: () => {
      sinceSent = progress.enter("response");
    },
    onResponseStart: (_controller, status, headers) => {
      // Interim responses (RFC 9110, section 15.2) say nothing about the delivery.
      if (status < 200) return;
      progress.timings.firstByteMs = sinceSent();
      progress.statusCode = status;
      progress.retryAfterMs = parseRetryAfter([headers["retry-after"]].flat()[0], new Date());
      progress.enter("body");
    },
    onResponseData: (_controller, chunk) => {
      if (!progress.truncated && !progress.addToBody(chunk, maxResponseBytes)) resolve();
    },
    onResponseEnd: () => resolve(),
    onResponseError: (_controller, error) => reject(toSendFailure(error)),
  };
}
