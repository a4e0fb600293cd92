import { createHash } from "node:crypto";
import { Agent, createServer, type IncomingMessage, type RequestListener, request, type Server } from "node:http";
import { connect, createServer as createTcpServer, type Socket } from "node:net";
import { describe, expect, it, onTestFinished } from "vitest";
import { createAppProxy } from "./app-proxy.ts";
import { until } from "./test-support.ts";

async function setup(more: { port?: number; closeLimitMs?: number } = {}) {
  const proxy = createAppProxy({ host: "127.0.0.1", port: 0, closeLimitMs: 200, ...more });
  const port = await proxy.listen();
  onTestFinished(() => proxy.close());
  return { proxy, port };
}

async function listenOn(server: Server | ReturnType<typeof createTcpServer>): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  return typeof address === "object" && address !== null ? address.port : 0;
}

async function app(listener: RequestListener): Promise<{ port: number; server: Server; stop(): Promise<void> }> {
  const server = createServer(listener);
  const port = await listenOn(server);
  const stop = () =>
    new Promise<void>((resolve) => {
      server.close(() => resolve());
      server.closeAllConnections();
    });
  onTestFinished(stop);
  return { port, server, stop };
}

interface Answer {
  status: number;
  headers: IncomingMessage["headers"];
  body: string;
}

interface Ask {
  host?: string;
  path?: string;
  method?: string;
  headers?: Record<string, string>;
  body?: string;
  agent?: Agent;
}

function ask(
  port: number,
  { host = "a.test", path = "/", method = "GET", headers = {}, body, agent }: Ask = {},
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const options = { host: "127.0.0.1", port, path, method, headers: { ...headers, host }, agent: agent ?? false };
    const sent = request(options, (res) => {
      let text = "";
      res.setEncoding("utf8");
      res.on("data", (chunk: string) => {
        text += chunk;
      });
      res.on("error", reject);
      res.on("end", () => resolve({ status: res.statusCode ?? 0, headers: res.headers, body: text }));
    });
    sent.on("error", reject);
    sent.end(body);
  });
}

/** Sends bytes as they are and collects everything that comes back until the connection ends. */
function askRaw(port: number, text: string): { socket: Socket; received(): string; ended: Promise<string> } {
  const socket = connect(port, "127.0.0.1");
  onTestFinished(() => void socket.destroy());
  let all = "";
  socket.setEncoding("utf8");
  socket.on("data", (chunk: string) => {
    all += chunk;
  });
  const ended = new Promise<string>((resolve) => {
    socket.once("close", () => resolve(all));
    socket.on("error", () => undefined);
  });
  socket.write(text);
  return { socket, received: () => all, ended };
}

describe("routing", () => {
  it("sends a host to its release, whatever the letter case, port and trailing dot", async () => {
    const { proxy, port } = await setup();
    const one = await app((req, res) => res.end(`one ${req.url} ${req.headers.host}`));
    proxy.setRoute("A.test", { releaseId: "r1", port: one.port });
    for (const host of ["a.test", "A.TEST:8080", "a.test.", "a.test.:80"]) {
      const answer = await ask(port, { host, path: "//x/../y?q=1?2" });
      expect(answer.body).toBe(`one //x/../y?q=1?2 ${host}`);
      expect(answer.headers["x-quayside-release"]).toBe("r1");
    }
    proxy.removeRoute("a.test");
    expect((await ask(port)).status).toBe(404);
  });

  it("answers for an unknown host with an escaped page, or JSON", async () => {
    const { port } = await setup();
    const page = await ask(port, { host: "<script>alert(1)</script>" });
    expect(page.status).toBe(404);
    expect(page.headers["content-type"]).toBe("text/html; charset=utf-8");
    expect(page.body).not.toContain("<script>");
    expect(page.body).toContain("&#60;script&#62;");
    const json = await ask(port, { host: "b.test", headers: { accept: "application/json" } });
    expect(JSON.parse(json.body)).toMatchObject({ status: 404, detail: "b.test does not lead to an app." });
    expect((await ask(port, { method: "HEAD" })).body).toBe("");
  });

  it("answers 503 with Retry-After for a route without a target", async () => {
    const { proxy, port } = await setup();
    proxy.setRoute("a.test", null);
    const answer = await ask(port);
    expect(answer.status).toBe(503);
    expect(answer.headers["retry-after"]).toBe("5");
  });

  it("replaces what the client claims about its way", async () => {
    const { proxy, port } = await setup();
    const echo = await app((req, res) => res.end(JSON.stringify(req.headers)));
    proxy.setRoute("a.test", { releaseId: "r1", port: echo.port });
    const headers = {
      "x-forwarded-for": "6.6.6.6",
      "x-forwarded-prefix": "/x",
      forwarded: "for=6.6.6.6",
      "x-forwarded-host": "evil",
    };
    const seen = JSON.parse((await ask(port, { headers })).body);
    expect(seen).toMatchObject({
      "x-forwarded-for": "127.0.0.1",
      "x-forwarded-proto": "http",
      "x-forwarded-host": "a.test",
      host: "a.test",
    });
    expect(JSON.stringify(seen)).not.toMatch(/6\.6\.6\.6|prefix|evil/);
  });

  it("passes on no header that Connection names, either way", async () => {
    const { proxy, port } = await setup();
    const echo = await app((req, res) => {
      res.setHeader("connection", "x-secret-of-the-app");
      res.setHeader("x-secret-of-the-app", "1");
      res.end(JSON.stringify(req.headers));
    });
    proxy.setRoute("a.test", { releaseId: "r1", port: echo.port });
    const headers = { connection: "keep-alive, x-hop", "x-hop": "1", "x-kept": "1" };
    const answer = await ask(port, { headers });
    expect(JSON.parse(answer.body)).toMatchObject({ "x-kept": "1" });
    expect(answer.body).not.toContain("x-hop");
    expect(answer.headers).not.toHaveProperty("x-secret-of-the-app");
  });

  it("keeps the client's connection although the app's is closed after each answer", async () => {
    const { proxy, port } = await setup();
    const sockets = new Set<unknown>();
    const one = await app((_req, res) => res.end("ok"));
    proxy.setRoute("a.test", { releaseId: "r1", port: one.port });
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    onTestFinished(() => agent.destroy());
    agent.on("free", (socket) => sockets.add(socket));
    for (let count = 0; count < 5; count += 1) expect((await ask(port, { agent })).body).toBe("ok");
    expect(sockets.size).toBe(1);
  });
});

describe("switching", () => {
  it("loses no request while traffic moves from one release to the next and the old one stops", async () => {
    const { proxy, port } = await setup();
    const old = await app((_req, res) => setTimeout(() => res.end("old"), 3));
    const next = await app((_req, res) => setTimeout(() => res.end("next"), 3));
    proxy.setRoute("a.test", { releaseId: "old", port: old.port });
    const agent = new Agent({ keepAlive: true, maxSockets: 8 });
    onTestFinished(() => agent.destroy());
    const answers: Answer[] = [];
    let left = 400;
    const client = async () => {
      while (left > 0) {
        left -= 1;
        answers.push(await ask(port, { agent }));
      }
    };
    const clients = Array.from({ length: 8 }, client);
    await until("some were answered", () => answers.length > 100);
    proxy.setRoute("a.test", { releaseId: "next", port: next.port });
    expect(await proxy.drain("old", 5_000)).toBe(true);
    await old.stop();
    await Promise.all(clients);
    expect(answers).toHaveLength(400);
    expect(answers.filter(({ status }) => status !== 200)).toEqual([]);
    expect(new Set(answers.map(({ body, headers }) => `${body} ${headers["x-quayside-release"]}`))).toEqual(
      new Set(["old old", "next next"]),
    );
  });

  it("retries once by the new route when the old release is gone, but not a request with a body", async () => {
    const { proxy, port } = await setup();
    const next = await app((_req, res) => res.end("next"));
    // Closes every connection, and moves the route meanwhile.
    const dying = createTcpServer((socket) => {
      proxy.setRoute("a.test", { releaseId: "next", port: next.port });
      socket.resetAndDestroy();
    });
    const dyingPort = await listenOn(dying);
    onTestFinished(() => void dying.close());
    proxy.setRoute("a.test", { releaseId: "old", port: dyingPort });
    expect(await ask(port)).toMatchObject({ status: 200, body: "next", headers: { "x-quayside-release": "next" } });
    proxy.setRoute("a.test", { releaseId: "old", port: dyingPort });
    expect((await ask(port, { method: "POST", body: "x" })).status).toBe(502);
    expect(await proxy.drain("old", 0)).toBe(true);
  });

  it("answers 502 when the app stays away, and goes on serving", async () => {
    const { proxy, port } = await setup();
    const gone = await app(() => undefined);
    await gone.stop();
    proxy.setRoute("a.test", { releaseId: "r1", port: gone.port });
    expect((await ask(port)).status).toBe(502);
    expect((await ask(port, { method: "POST", body: "x".repeat(100_000) })).status).toBe(502);
  });

  it("waits for what is in flight, and no longer than told", async () => {
    const { proxy, port } = await setup();
    const held = Promise.withResolvers<void>();
    const slow = await app((_req, res) => void held.promise.then(() => res.end("late")));
    proxy.setRoute("a.test", { releaseId: "r1", port: slow.port });
    const answer = ask(port);
    await until("it is in flight", async () => !(await proxy.drain("r1", 0)));
    expect(await proxy.drain("r1", 50)).toBe(false);
    expect(await proxy.drain("another", 50)).toBe(true);
    const dry = proxy.drain("r1", 5_000);
    held.resolve();
    expect(await dry).toBe(true);
    expect((await answer).body).toBe("late");
  });
});

describe("streams", () => {
  it("passes both directions on as they come", async () => {
    const { proxy, port } = await setup();
    const echo = await app((req, res) => {
      res.writeHead(200);
      req.on("data", (chunk) => res.write(chunk));
      req.on("end", () => res.end("."));
    });
    proxy.setRoute("a.test", { releaseId: "r1", port: echo.port });
    const { socket, received } = askRaw(port, "POST / HTTP/1.1\r\nhost: a.test\r\ntransfer-encoding: chunked\r\n\r\n");
    for (const word of ["first", "other"]) {
      socket.write(`5\r\n${word}\r\n`);
      await until(`${word} came back before the request ended`, () => received().includes(word));
    }
    socket.write("0\r\n\r\n");
    await until("the answer ended", () => received().endsWith("0\r\n\r\n"));
  });

  it("tells the app that the client went away", async () => {
    const { proxy, port } = await setup();
    const gone = Promise.withResolvers<string>();
    const endless = await app((_req, res) => {
      res.write("x");
      res.once("close", () => gone.resolve("closed"));
    });
    proxy.setRoute("a.test", { releaseId: "r1", port: endless.port });
    const { socket, received } = askRaw(port, "GET / HTTP/1.1\r\nhost: a.test\r\n\r\n");
    await until("it streams", () => received().includes("200 OK"));
    socket.destroy();
    expect(await gone.promise).toBe("closed");
    expect(await proxy.drain("r1", 5_000)).toBe(true);
  });

  it.each(["resetAndDestroy", "end"] as const)("breaks off when the app's answer breaks off (%s)", async (how) => {
    const { proxy, port } = await setup();
    const sockets: Socket[] = [];
    const broken = await app((req, res) => {
      sockets.push(req.socket);
      res.write("half");
    });
    proxy.setRoute("a.test", { releaseId: "r1", port: broken.port });
    const { ended, received } = askRaw(port, "GET / HTTP/1.1\r\nhost: a.test\r\n\r\n");
    await until("the first half came", () => received().includes("half"));
    sockets[0]?.[how]();
    expect(await ended).not.toContain("0\r\n\r\n");
    expect(await proxy.drain("r1", 5_000)).toBe(true);
  });

  it.each([
    "HTTP/1.1 200 \u0001odd",
    "HTTP/1.1 000 zero",
    "HTTP/1.1 999 far",
    "HTTP/1.1 101 Switching\r\nupgrade: x\r\nconnection: upgrade",
    "nonsense",
  ])("survives an app that answers %j", async (line) => {
    const { proxy, port } = await setup();
    const odd = createTcpServer((socket) => {
      socket.on("error", () => undefined);
      socket.once("data", () => socket.end(`${line}\r\ncontent-length: 2\r\n\r\nok`));
    });
    const oddPort = await listenOn(odd);
    onTestFinished(() => void odd.close());
    proxy.setRoute("a.test", { releaseId: "r1", port: oddPort });
    expect([200, 502]).toContain((await ask(port)).status);
    expect(await proxy.drain("r1", 5_000)).toBe(true);
  });
});

describe("WebSockets", () => {
  const handshake = (host: string) =>
    `GET /chat HTTP/1.1\r\nhost: ${host}\r\nupgrade: websocket\r\nconnection: Upgrade\r\nsec-websocket-version: 13\r\n` +
    "x-forwarded-for: 6.6.6.6\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";

  async function echoApp() {
    const seen: IncomingMessage["headers"][] = [];
    const echo = await app((_req, res) => res.end("plain"));
    echo.server.on("upgrade", (req: IncomingMessage, socket: Socket) => {
      seen.push(req.headers);
      const accept = createHash("sha1")
        .update(`${req.headers["sec-websocket-key"]}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`)
        .digest("base64");
      socket.write(
        `HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\nconnection: Upgrade\r\nsec-websocket-accept: ${accept}\r\n\r\n`,
      );
      socket.on("error", () => undefined);
      socket.pipe(socket);
      onTestFinished(() => void socket.destroy());
    });
    return { ...echo, seen };
  }

  it("passes both ways, counts as in flight, and ends with the client", async () => {
    const { proxy, port } = await setup();
    const echo = await echoApp();
    proxy.setRoute("a.test", { releaseId: "r1", port: echo.port });
    const { socket, received } = askRaw(port, handshake("a.test"));
    await until("it is upgraded", () => received().includes("\r\n\r\n"));
    expect(received()).toContain("HTTP/1.1 101");
    expect(received()).toContain("s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
    expect(received()).toContain("x-quayside-release: r1");
    expect(echo.seen[0]).toMatchObject({ host: "a.test", "x-forwarded-for": "127.0.0.1" });
    socket.write("hello over there");
    await until("it came back", () => received().includes("hello over there"));
    expect(await proxy.drain("r1", 20)).toBe(false);
    socket.destroy();
    expect(await proxy.drain("r1", 5_000)).toBe(true);
  });

  it("answers an upgrade for an unknown host or a dead app, and ends the connection", async () => {
    const { proxy, port } = await setup();
    expect(await askRaw(port, handshake("b.test")).ended).toContain("HTTP/1.1 404");
    const gone = await app(() => undefined);
    await gone.stop();
    proxy.setRoute("a.test", { releaseId: "r1", port: gone.port });
    expect(await askRaw(port, handshake("a.test")).ended).toContain("HTTP/1.1 502");
    proxy.setRoute("a.test", null);
    expect(await askRaw(port, handshake("a.test")).ended).toContain("HTTP/1.1 503");
  });

  it("treats another kind of upgrade as a plain request", async () => {
    const { proxy, port } = await setup();
    const echo = await echoApp();
    proxy.setRoute("a.test", { releaseId: "r1", port: echo.port });
    const text = "GET / HTTP/1.1\r\nhost: a.test\r\nupgrade: h2c\r\nconnection: Upgrade, close\r\n\r\n";
    expect(await askRaw(port, text).ended).toContain("plain");
  });
});

describe("listening and closing", () => {
  it("names APPS_PORT when the port is in use", async () => {
    const { port } = await setup();
    const second = createAppProxy({ host: "127.0.0.1", port });
    await expect(second.listen()).rejects.toThrow(`port ${port} for apps is in use on 127.0.0.1; set APPS_PORT`);
    await second.close();
  });

  it("lets a request in flight end, and cuts what takes longer than the bound", async () => {
    const { proxy, port } = await setup({ closeLimitMs: 5_000 });
    const held = Promise.withResolvers<void>();
    const slow = await app((_req, res) => void held.promise.then(() => res.end("late")));
    proxy.setRoute("a.test", { releaseId: "r1", port: slow.port });
    const answer = ask(port, { agent: new Agent({ keepAlive: true }) });
    await until("it is in flight", async () => !(await proxy.drain("r1", 0)));
    const closing = proxy.close();
    held.resolve();
    expect((await answer).body).toBe("late");
    await closing;
    await expect(ask(port)).rejects.toMatchObject({ code: "ECONNREFUSED" });
    const short = await setup({ closeLimitMs: 50 });
    const stuck = await app(() => undefined);
    short.proxy.setRoute("a.test", { releaseId: "r1", port: stuck.port });
    const cut = expect(ask(short.port)).rejects.toMatchObject({ code: "ECONNRESET" });
    await until("it is in flight", async () => !(await short.proxy.drain("r1", 0)));
    await short.proxy.close();
    await cut;
  });
});
