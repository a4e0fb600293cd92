import type { LookupAddress } from "node:dns";
import { connect, isIP, type LookupFunction, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import type { HostResolver } from "./host-resolver.ts";
import type { Target } from "./parse-target.ts";
import { codeOf, SendFailure } from "./send-failure.ts";
import type { SendProgress } from "./send-progress.ts";

/** Of several addresses the next one is tried after this time (RFC 8305); Node's 250 ms give up on far hosts. */
const ATTEMPT_TIMEOUT_MS = 1_000;

/**
 * Looks a host up, connects to an address that was found fit and does the TLS handshake, writing phases, times and address
 * into the progress. Throws a `SendFailure`, or the signal's reason; then nothing stays open.
 */
export async function openSocket(
  target: Target,
  resolver: HostResolver,
  progress: SendProgress,
  signal: AbortSignal,
): Promise<Socket> {
  const sinceLookup = progress.enter("dns");
  const addresses = await resolver.resolve(target.hostname, signal);
  progress.timings.dnsMs = isIP(target.hostname) === 0 ? sinceLookup() : 0;
  const sinceConnect = progress.enter("connect");
  const socket = await connectTo(addresses, target, signal);
  progress.timings.connectMs = sinceConnect();
  progress.address = socket.remoteAddress ?? null;
  if (!target.secure) return socket;
  const sinceHandshake = progress.enter("tls");
  const secured = await secure(socket, target, signal);
  progress.timings.tlsMs = sinceHandshake();
  return secured;
}

function connectTo(addresses: readonly LookupAddress[], target: Target, signal: AbortSignal): Promise<Socket> {
  const socket = connect({
    host: target.hostname,
    port: target.port,
    // In place of a second look-up, which could be answered with another address.
    lookup: answerWith(addresses),
    autoSelectFamily: true,
    autoSelectFamilyAttemptTimeout: ATTEMPT_TIMEOUT_MS,
    noDelay: true,
  });
  return untilOpen(socket, "connect", signal, (error) => {
    return new SendFailure("connect", `The connection could not be made (${codeOf(error)}).`, error);
  });
}

function answerWith(addresses: readonly LookupAddress[]): LookupFunction {
  return (_hostname, { all }, callback) => {
    const [first] = addresses;
    if (all || !first) callback(null, [...addresses]);
    else callback(null, first.address, first.family);
  };
}

function secure(socket: Socket, target: Target, signal: AbortSignal): Promise<Socket> {
  const secured = connectTls({
    socket,
    // The certificate must be for this name or address.
    host: target.hostname,
    // Server Name Indication takes names only, without the dot of the root (RFC 6066, section 3).
    servername: isIP(target.hostname) === 0 ? target.hostname.replace(/\.$/, "") : "",
    ALPNProtocols: ["http/1.1"],
    // Said here, no environment variable can change it.
    rejectUnauthorized: true,
  });
  return untilOpen(secured, "secureConnect", signal, (error) => {
    const detail = error instanceof Error ? error.message : "";
    return new SendFailure("tls", `The TLS handshake failed (${codeOf(error)}): ${detail}`, error);
  });
}

async function untilOpen(
  socket: Socket,
  event: "connect" | "secureConnect",
  signal: AbortSignal,
  explain: (error: unknown) => SendFailure,
): Promise<Socket> {
  const { promise, resolve, reject } = Promise.withResolvers<Socket>();
  const onAbort = () => reject(signal.reason);
  const onClose = () => reject(explain(new Error("closed")));
  socket.once(event, () => resolve(socket));
  // It stays: an error while no request is under way must not end the process.
  socket.on("error", (error) => reject(explain(error)));
  socket.once("close", onClose);
  signal.addEventListener("abort", onAbort, { once: true });
  if (signal.aborted) onAbort();
  try {
    return await promise;
  } catch (error) {
    socket.destroy();
    throw error;
  } finally {
    socket.off("close", onClose);
    signal.removeEventListener("abort", onAbort);
  }
}
