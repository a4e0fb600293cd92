import { responseText } from "./response-text.ts";
import type { SendErrorClass, SendFailure } from "./send-failure.ts";

/** Whole milliseconds; null for what was not reached, or not needed on a kept connection. */
export interface SendTimings {
  /** The look-up of the host; 0 for an address literal. */
  dnsMs: number | null;
  connectMs: number | null;
  /** Null also for `http:`. */
  tlsMs: number | null;
  /** From handing the request to the connection until the response's header section had been read. */
  firstByteMs: number | null;
}

export interface SendOutcome {
  /** Null when no header section came. It stands also when the body then failed, so look at `error` first. */
  statusCode: number | null;
  error: { class: SendErrorClass; message: string } | null;
  durationMs: number;
  timings: SendTimings;
  /** The address that was connected to. */
  address: string | null;
  /** The beginning of the body as text that can be stored and shown. */
  responseBody: string;
  /** The body went on after what was read. */
  truncated: boolean;
  /** What the receiver asked for, at most 24 hours. */
  retryAfterMs: number | null;
}

const PHASES = {
  connection: "while waiting for a free connection",
  dns: "while looking the host up",
  connect: "while connecting",
  tls: "in the TLS handshake",
  response: "while waiting for the answer",
  body: "while reading the answer",
} as const;

/** What is known of a delivery under way. */
export class SendProgress {
  phase: keyof typeof PHASES = "connection";
  statusCode: number | null = null;
  address: string | null = null;
  retryAfterMs: number | null = null;
  truncated = false;
  readonly timings: SendTimings = { dnsMs: null, connectMs: null, tlsMs: null, firstByteMs: null };
  readonly #startedAt = performance.now();
  readonly #chunks: Buffer[] = [];
  #bytes = 0;

  get phaseText(): string {
    return PHASES[this.phase];
  }

  /** Enters a phase; the function that comes back says how many milliseconds ago that was. */
  enter(phase: keyof typeof PHASES): () => number {
    this.phase = phase;
    const startedAt = performance.now();
    return () => Math.round(performance.now() - startedAt);
  }

  /** Adds to the body up to its limit; false when there was more than that. */
  addToBody(chunk: Buffer, maxBytes: number): boolean {
    const kept = chunk.subarray(0, maxBytes - this.#bytes);
    // A copy: the chunk may be a window of a buffer that is used again.
    this.#chunks.push(Buffer.from(kept));
    this.#bytes += kept.length;
    this.truncated = kept.length < chunk.length;
    return !this.truncated;
  }

  outcome(failure: SendFailure | null): SendOutcome {
    return {
      statusCode: this.statusCode,
      error: failure && { class: failure.errorClass, message: failure.message },
      durationMs: Math.round(performance.now() - this.#startedAt),
      timings: { ...this.timings },
      address: this.address,
      responseBody: responseText(Buffer.concat(this.#chunks), this.truncated),
      truncated: this.truncated,
      retryAfterMs: this.retryAfterMs,
    };
  }
}
