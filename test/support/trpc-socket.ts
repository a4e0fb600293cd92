import { until } from "./until.ts";

/** A message of tRPC's WebSocket protocol, as the server sends it. */
export interface TrpcMessage {
  id: number | string | null;
  method?: string;
  result?: { type: "data" | "started" | "stopped"; id?: string; data?: unknown };
  error?: { message: string; data: Record<string, unknown> };
}

export interface TrpcSocket {
  /** Everything that came. */
  readonly messages: readonly TrpcMessage[];
  /** Why and with what code the socket was closed. */
  readonly closed: Promise<{ code: number; reason: string }>;
  /** Sends a call and waits for its first answer. */
  call(method: "query" | "mutation", path: string, input?: unknown): Promise<TrpcMessage>;
  /** Begins a subscription; what it says comes with this id. */
  subscribe(path: string, input: unknown): number;
  sendRaw(text: string): void;
  close(): void;
}

/** A plain client of tRPC over WebSocket, which shows what really goes over the wire. */
export async function openTrpcSocket(
  baseUrl: string,
  options: { headers?: Record<string, string>; connectionParams?: Record<string, string> } = {},
): Promise<TrpcSocket> {
  const url = `${baseUrl.replace(/^http/, "ws")}/trpc${options.connectionParams ? "?connectionParams=1" : ""}`;
  // Node takes headers here, which its types for browsers do not know.
  const socket = new WebSocket(url, { headers: options.headers ?? {} } as never);
  const messages: TrpcMessage[] = [];
  let lastId = 0;
  socket.addEventListener("message", ({ data }) => {
    if (data === "PING") socket.send("PONG");
    else messages.push(JSON.parse(String(data)));
  });
  const closed = new Promise<{ code: number; reason: string }>((resolve) => {
    socket.addEventListener("close", ({ code, reason }) => resolve({ code, reason }));
  });
  await new Promise<void>((resolve, reject) => {
    socket.addEventListener("open", () => resolve());
    socket.addEventListener("error", () => reject(new Error(`No WebSocket at ${url}.`)));
  });
  const send = (method: string, path: string, input: unknown) => {
    lastId += 1;
    socket.send(JSON.stringify({ id: lastId, jsonrpc: "2.0", method, params: { path, input } }));
    return lastId;
  };
  if (options.connectionParams) {
    socket.send(JSON.stringify({ method: "connectionParams", data: options.connectionParams }));
  }
  return {
    messages,
    closed,
    async call(method, path, input) {
      const id = send(method, path, input);
      return until(`${path} is answered`, () => messages.find((message) => message.id === id));
    },
    subscribe: (path, input) => send("subscription", path, input),
    sendRaw: (text) => socket.send(text),
    close: () => socket.close(),
  };
}
