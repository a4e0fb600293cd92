import { connect, createServer, type Socket } from "node:net";

/** A way to a PostgreSQL server that can be shut: open connections break, and new ones are refused. */
export interface TcpGate {
  /** The connection string that leads through the gate. */
  url: string;
  /** Connections tried since the gate was made, refused ones too. */
  readonly tried: number;
  /** Connections that are open now. */
  readonly open: number;
  shut(): void;
  reopen(): void;
  close(): Promise<void>;
}

export async function openTcpGate(databaseUrl: string): Promise<TcpGate> {
  const target = new URL(databaseUrl);
  const sockets = new Set<Socket>();
  let tried = 0;
  let isShut = false;
  const server = createServer((client) => {
    tried += 1;
    client.on("error", () => {});
    if (isShut) {
      client.resetAndDestroy();
      return;
    }
    const upstream = connect(Number(target.port || 5432), target.hostname);
    upstream.on("error", () => client.destroy());
    client.pipe(upstream).pipe(client);
    sockets.add(client);
    client.once("close", () => {
      sockets.delete(client);
      upstream.destroy();
    });
    upstream.once("close", () => client.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  const url = new URL(databaseUrl);
  url.hostname = "127.0.0.1";
  url.port = String(typeof address === "object" && address ? address.port : 0);
  const breakAll = () => {
    for (const socket of sockets) socket.destroy();
  };
  return {
    url: url.href,
    get tried() {
      return tried;
    },
    get open() {
      return sockets.size;
    },
    shut() {
      isShut = true;
      breakAll();
    },
    reopen() {
      isShut = false;
    },
    close() {
      breakAll();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
}
