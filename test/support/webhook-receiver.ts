import { createServer, type IncomingHttpHeaders, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/** One request as a receiver got it. */
export interface Received {
  /** `webhook-id`. */
  id: string;
  headers: IncomingHttpHeaders;
  body: string;
  /** Unix milliseconds. */
  at: number;
}

export interface Reply {
  status: number;
  headers?: Record<string, string>;
  body?: string;
}

/** Null: it never answers. */
export type Answer = (received: Received, earlier: readonly Received[]) => Reply | null;

export interface Receiver {
  url: string;
  /** All that came, in order. */
  received: Received[];
  answer: Answer;
  /** Requests that wait for an answer. */
  readonly open: number;
  /** Answers them all. */
  release(reply: Reply): void;
  /** Closes the port and breaks what is open; `start` opens the same port again. */
  stop(): Promise<void>;
  start(): Promise<void>;
}

export const accept: Answer = () => ({ status: 200, body: "thanks" });
export const hang: Answer = () => null;

/** A receiver of webhooks on a loopback port of its own. */
export async function openReceiver(answer: Answer = accept): Promise<Receiver> {
  const received: Received[] = [];
  const waiting = new Set<ServerResponse>();
  let server: Server | null = null;
  let port = 0;
  const listen = async () => {
    const started = createServer((request, response) => {
      const chunks: Buffer[] = [];
      request.on("data", (chunk: Buffer) => chunks.push(chunk));
      request.on("error", () => {});
      request.on("end", () => {
        const { headers } = request;
        const one = { id: String(headers["webhook-id"]), headers, body: `${Buffer.concat(chunks)}`, at: Date.now() };
        const reply = receiver.answer(one, received);
        received.push(one);
        if (reply) response.writeHead(reply.status, reply.headers).end(reply.body);
        else waiting.add(response.once("close", () => waiting.delete(response)));
      });
    });
    server = started;
    await new Promise<void>((resolve, reject) => {
      started.once("error", reject).listen(port, "127.0.0.1", resolve);
    });
    port = (started.address() as AddressInfo).port;
  };
  const stop = () =>
    new Promise<void>((resolve) => {
      if (!server) return resolve();
      server.close(() => resolve());
      server.closeAllConnections();
      server = null;
    });
  const receiver: Receiver = {
    url: "",
    received,
    answer,
    get open() {
      return waiting.size;
    },
    release({ status, headers, body }) {
      for (const response of waiting) response.writeHead(status, headers).end(body);
    },
    stop,
    start: listen,
  };
  await listen();
  receiver.url = `http://127.0.0.1:${port}/hook`;
  return receiver;
}

/** How often each id came. */
export function timesById(receiver: Pick<Receiver, "received">): Map<string, number> {
  const times = new Map<string, number>();
  for (const { id } of receiver.received) times.set(id, (times.get(id) ?? 0) + 1);
  return times;
}
