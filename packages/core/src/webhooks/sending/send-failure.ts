import { harmlessText } from "./response-text.ts";

/**
 * `dns` no address; `connect` no TCP connection; `tls` no handshake or a bad certificate; `timeout` the deadline, in
 * whatever phase; `reset` the connection broke; `refused_address` an address that is not delivered to; `invalid_url`;
 * `protocol` what came is not HTTP/1.1, or too much of it; `aborted` by the caller.
 */
export type SendErrorClass =
  | "dns"
  | "connect"
  | "tls"
  | "timeout"
  | "reset"
  | "refused_address"
  | "invalid_url"
  | "protocol"
  | "aborted";

const MAX_MESSAGE_LENGTH = 300;

/** Why a delivery had no complete answer. The message is for the owner of the endpoint. */
export class SendFailure extends Error {
  readonly errorClass: SendErrorClass;
  constructor(errorClass: SendErrorClass, message: string, cause?: unknown) {
    // Certificates and parsers put the other side's text into their messages.
    super(harmlessText(message).slice(0, MAX_MESSAGE_LENGTH).toWellFormed(), { cause });
    this.name = "SendFailure";
    this.errorClass = errorClass;
  }
}

/** The code of a system, TLS or HTTP client error, or its name where it has none. */
export function codeOf(error: unknown): string {
  if (!(error instanceof Error)) return "unknown";
  const { code } = error as NodeJS.ErrnoException;
  if (typeof code === "string") return code;
  // Several addresses were tried, each with an error of its own.
  if (error instanceof AggregateError && error.errors.length > 0) return codeOf(error.errors[0]);
  return error.name;
}

/** Names for "the connection ended before the answer did"; everything else that a response can do wrong is protocol. */
const BROKEN_CONNECTION = new Set([
  "ECONNRESET",
  "EPIPE",
  "ECONNABORTED",
  "ETIMEDOUT",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "ENETDOWN",
  "UND_ERR_SOCKET",
  "HPE_INVALID_EOF_STATE",
]);

/** An error of the HTTP exchange as a failure; those that have a class keep it. */
export function toSendFailure(error: unknown): SendFailure {
  if (error instanceof SendFailure) return error;
  const code = codeOf(error);
  // The HTTP client uses one code both for a closed connection and for answers that it does not take.
  if (error instanceof Error && /^bad (response|upgrade)$/.test(error.message)) {
    return new SendFailure("protocol", `The answer is not one to a POST request (${error.message}).`, error);
  }
  if (code === "UND_ERR_INVALID_ARG" || code === "UND_ERR_NOT_SUPPORTED") {
    return new SendFailure("protocol", "The delivery's headers cannot be sent.", error);
  }
  if (BROKEN_CONNECTION.has(code)) {
    return new SendFailure("reset", `The connection broke before the answer was complete (${code}).`, error);
  }
  return new SendFailure("protocol", `The answer is not valid HTTP/1.1 (${code}).`, error);
}
