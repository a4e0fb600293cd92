import type { ServerResponse } from "node:http";
import { isTrackedEnvelope } from "@trpc/server";
import { baseHeaders, type Reply } from "./send.ts";

/** A client that takes nothing for this long is cut off; it reconnects and goes on by id. */
const STALL_TIMEOUT_MS = 60_000;
const RETRY_MS = 1_000;

export interface EventStreamOptions {
  eventName: string;
  pingIntervalMs: number;
  signal: AbortSignal;
}

/** Sends a subscription as server-sent events (WHATWG HTML, section 9.2), with ids and a ping. */
export async function sendEventStream(
  reply: Reply,
  items: AsyncIterable<unknown>,
  options: EventStreamOptions,
): Promise<void> {
  const { res } = reply;
  res.writeHead(200, {
    ...baseHeaders(reply.ctx),
    "Content-Type": "text/event-stream; charset=utf-8",
    "Cache-Control": "no-cache, no-transform",
    "X-Accel-Buffering": "no",
  });
  res.write(`retry: ${RETRY_MS}\n\n`);
  const ping = setInterval(() => res.write("event: ping\ndata:\n\n"), options.pingIntervalMs);
  try {
    for await (const item of items) {
      if (options.signal.aborted || res.destroyed) break;
      if (!isTrackedEnvelope(item)) continue;
      const [id, data] = item;
      const event = `id: ${id}\nevent: ${options.eventName}\ndata: ${JSON.stringify(data)}\n\n`;
      if (!res.write(event) && !(await drained(res, options.signal))) break;
    }
  } finally {
    clearInterval(ping);
    res.end();
  }
}

interface LogEntry {
  at: string;
  component: string;
  line: string;
}

/** Sends log entries as text lines `<time> <component> <text>`. */
export async function sendLogLines(reply: Reply, items: AsyncIterable<unknown>, signal: AbortSignal): Promise<void> {
  const { res } = reply;
  res.writeHead(200, {
    ...baseHeaders(reply.ctx),
    "Content-Type": "text/plain; charset=utf-8",
    "Cache-Control": "no-cache, no-transform",
    "X-Accel-Buffering": "no",
  });
  res.flushHeaders();
  for await (const item of items) {
    if (signal.aborted || res.destroyed) break;
    if (!isTrackedEnvelope(item)) continue;
    const { at, component, line } = item[1] as LogEntry;
    if (!res.write(`${at} ${component} ${line}\n`) && !(await drained(res, signal))) break;
  }
  res.end();
}

/** False when the client left, or took nothing for a minute and was cut off. */
function drained(res: ServerResponse, signal: AbortSignal): Promise<boolean> {
  if (signal.aborted || res.destroyed) return Promise.resolve(false);
  return new Promise((resolve) => {
    const finish = (ok: boolean) => {
      clearTimeout(timer);
      res.off("drain", onDrain);
      res.off("close", onEnd);
      signal.removeEventListener("abort", onEnd);
      resolve(ok);
    };
    const onDrain = () => finish(true);
    const onEnd = () => finish(false);
    const timer = setTimeout(() => {
      res.destroy();
      finish(false);
    }, STALL_TIMEOUT_MS);
    res.once("drain", onDrain);
    res.once("close", onEnd);
    signal.addEventListener("abort", onEnd, { once: true });
  });
}
