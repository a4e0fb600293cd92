import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import { applyWSSHandler } from "@trpc/server/adapters/ws";
import { type WebSocket, WebSocketServer } from "ws";
import { appRouter } from "../app-router.ts";
import { type PublicError, toPublicError } from "../platform/errors.ts";
import type { RequestContext } from "../platform/request-context.ts";

const MAX_MESSAGE_BYTES = 1_048_576;
const MAX_BATCH_SIZE = 20;
/** A reader with more than this unsent is cut off; it reconnects and goes on after the last event that it saw. */
const MAX_UNSENT_BYTES = 1_048_576;
/** Streams wait while more than this is unsent, so that a burst cuts off nobody who reads. */
const STREAM_UNSENT_BYTES = 262_144;
const PING_INTERVAL_MS = 30_000;
const PONG_TIMEOUT_MS = 10_000;
const CLOSE_TIMEOUT_MS = 5_000;
const TRY_AGAIN_LATER = 1013;

export interface TrpcWebSocketOptions {
  createContext(req: IncomingMessage, token: string | null): RequestContext;
  onError(error: unknown, told: PublicError, ctx: RequestContext | undefined): void;
}

export interface TrpcWebSocket {
  upgrade(req: IncomingMessage, socket: Duplex, head: Buffer): void;
  /** Tells every client to reconnect elsewhere, then closes; bounded by 5 seconds. */
  close(): Promise<void>;
}

/** Serves tRPC over WebSocket. Credentials come as header, cookie, or as `token` among the connection parameters. */
export function attachTrpcWebSocket(options: TrpcWebSocketOptions): TrpcWebSocket {
  const wss = new WebSocketServer({ noServer: true, maxPayload: MAX_MESSAGE_BYTES });
  wss.on("connection", limitUnsent);
  const handler = applyWSSHandler({
    wss,
    router: appRouter,
    maxBatchSize: MAX_BATCH_SIZE,
    keepAlive: { enabled: true, pingMs: PING_INTERVAL_MS, pongWaitMs: PONG_TIMEOUT_MS },
    createContext: ({ req, res: client, info }) => ({
      ...options.createContext(req, info.connectionParams?.token ?? null),
      untilWritable: () => untilWritable(client),
    }),
    onError: ({ error, ctx }) => options.onError(error, toPublicError(error), ctx),
  });
  return {
    upgrade: (req, socket, head) =>
      wss.handleUpgrade(req, socket, head, (client) => wss.emit("connection", client, req)),
    async close() {
      handler.broadcastReconnectNotification();
      await Promise.race([allClosed(wss), timeout(CLOSE_TIMEOUT_MS)]);
      for (const client of wss.clients) client.terminate();
      wss.close();
    },
  };
}

const waiting = new WeakMap<WebSocket, Set<() => void>>();

/** tRPC does not wait for a slow client; what piles up is memory. */
function limitUnsent(client: WebSocket): void {
  const waiters = new Set<() => void>();
  waiting.set(client, waiters);
  const wake = () => {
    for (const waiter of waiters) waiter();
  };
  client.once("close", wake);
  const send = client.send.bind(client) as (data: string, sent: () => void) => void;
  client.send = (data: unknown) => {
    if (client.bufferedAmount > MAX_UNSENT_BYTES) {
      client.close(TRY_AGAIN_LATER, "reading too slowly; resume by id");
      client.terminate();
      return;
    }
    send(data as string, wake);
  };
}

function untilWritable(client: WebSocket): Promise<void> {
  const writable = () => client.readyState !== client.OPEN || client.bufferedAmount <= STREAM_UNSENT_BYTES;
  const waiters = waiting.get(client);
  if (!waiters || writable()) return Promise.resolve();
  return new Promise((resolve) => {
    const waiter = () => {
      if (!writable()) return;
      waiters.delete(waiter);
      resolve();
    };
    waiters.add(waiter);
  });
}

async function allClosed(wss: WebSocketServer): Promise<void> {
  const closing = [...wss.clients].map(
    (client) =>
      new Promise<void>((resolve) => {
        client.once("close", () => resolve());
        client.close(TRY_AGAIN_LATER, "shutting down");
      }),
  );
  await Promise.all(closing);
}

function timeout(ms: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, ms).unref();
  });
}
