import { createServer as createHttpServer, type RequestListener } from "node:http";
import { type AddressInfo, createServer, type Server, type Socket } from "node:net";
import { onTestFinished } from "vitest";
// Loaded here, it takes nothing of the first test's short deadline.
import "../receiver-connection.ts";
import type { SendOutcome } from "../send-progress.ts";
import { WebhookSender, type WebhookSenderOptions } from "../webhook-sender.ts";

export interface Receiver {
  url: string;
  port: number;
  /** All that ever connected, in order. */
  sockets: Socket[];
  /** Resolves when the socket of this place in the order is closed; a socket that is not read does not notice. */
  closed: (index: number) => Promise<void>;
}

/** A server on a port of its own that answers as the test says; it is gone when the test is. */
export function receiverOf(listener: RequestListener): Promise<Receiver> {
  // It keeps idle connections for ever, so that what closes them is the sender.
  return receiving(createHttpServer({ keepAliveTimeout: 0 }, listener), "http");
}

/** A server that gets bare sockets, to misbehave on them. */
export function rawReceiverOf(onSocket: (socket: Socket) => void): Promise<Receiver> {
  return receiving(createServer(onSocket), "http");
}

export async function receiving(server: Server, scheme: "http" | "https"): Promise<Receiver> {
  const sockets: Socket[] = [];
  const ends: Promise<void>[] = [];
  server.on("connection", (socket: Socket) => {
    sockets.push(socket);
    socket.on("error", () => {});
    ends.push(new Promise((resolve) => socket.once("close", () => resolve())));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(async () => {
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
  });
  const { port } = server.address() as AddressInfo;
  const closed = async (index: number) => {
    sockets[index]?.resume();
    await ends[index];
  };
  return { url: `${scheme}://127.0.0.1:${port}/hook`, port, sockets, closed };
}

/** A sender that may reach the test's own servers, closed when the test is done. */
export function senderOf(options: Partial<WebhookSenderOptions> = {}): WebhookSender {
  const sender = new WebhookSender({ allowPrivateNetworks: true, requireHttps: false, timeoutMs: 5_000, ...options });
  onTestFinished(() => sender.close());
  return sender;
}

const BODY = Buffer.from('{"id":"e1"}');

export function deliver(sender: WebhookSender, url: string, signal?: AbortSignal): Promise<SendOutcome> {
  return sender.send({ url, headers: { "Content-Type": "application/json" }, body: BODY, signal });
}
