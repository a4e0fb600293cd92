import { createServer, type Socket } from "node:net";
import { gzipSync } from "node:zlib";
import { expect, test } from "vitest";
import { deliver, rawReceiverOf, receiverOf, senderOf } from "./testing/receivers.ts";

const OK = "HTTP/1.1 200 OK\r\n";

/** Answers with this as soon as a request comes. */
function answering(text: string | Buffer) {
  return rawReceiverOf((socket) => socket.once("data", () => socket.write(text)));
}

test.each([
  ["without reading", "while waiting for the answer", (socket: Socket) => socket.pause()],
  ["in the status line", "while waiting for the answer", (socket: Socket) => socket.write("HTTP/1.1 2")],
  ["in the headers", "while waiting for the answer", (socket: Socket) => socket.write(`${OK}X-A: b\r\n`)],
])("a receiver that hangs %s is left at the deadline", async (_what, phase, hang) => {
  const receiver = await rawReceiverOf(hang);
  const outcome = await deliver(senderOf({ timeoutMs: 600 }), receiver.url);
  expect(outcome).toMatchObject({ statusCode: null, address: "127.0.0.1", error: { class: "timeout" } });
  expect(outcome.error?.message).toContain(phase);
  expect(outcome.durationMs).toBeGreaterThanOrEqual(590);
  expect(outcome.durationMs).toBeLessThan(2_000);
  await receiver.closed(0);
});

test.each([
  ["after the headers", "Content-Length: 5\r\n\r\n", ""],
  ["in the middle of the body", "Content-Length: 5\r\n\r\nhel", "hel"],
  ["between chunks", "Transfer-Encoding: chunked\r\n\r\n3\r\nhel\r\n", "hel"],
  ["when it should close", "\r\nhel", "hel"],
])("a receiver that hangs %s is left at the deadline, with what came", async (_what, rest, responseBody) => {
  const receiver = await answering(`${OK}${rest}`);
  const outcome = await deliver(senderOf({ timeoutMs: 600 }), receiver.url);
  expect(outcome).toMatchObject({ statusCode: 200, responseBody, truncated: false, error: { class: "timeout" } });
  expect(outcome.error?.message).toContain("while reading the answer");
  await receiver.closed(0);
});

test("a name server that does not answer is left at the deadline", async () => {
  const lookup = () => new Promise<never>(() => {});
  const outcome = await deliver(senderOf({ timeoutMs: 200, lookup }), "http://slow-dns.example.test/");
  expect(outcome).toMatchObject({ statusCode: null, error: { class: "timeout" }, timings: { dnsMs: null } });
  expect(outcome.error?.message).toContain("while looking the host up");
});

test("a body that drips cannot outlive the deadline", async () => {
  const receiver = await rawReceiverOf((socket) => {
    socket.write(`${OK}Content-Length: 1000\r\n\r\n`);
    const drip = setInterval(() => socket.write("x"), 1_000);
    socket.once("close", () => clearInterval(drip));
  });
  const outcome = await deliver(senderOf({ timeoutMs: 2_500 }), receiver.url);
  expect(outcome).toMatchObject({ statusCode: 200, responseBody: "xx", error: { class: "timeout" } });
  expect(outcome.durationMs).toBeLessThan(4_000);
  await receiver.closed(0);
});

test("headers that drip cannot outlive the deadline", async () => {
  const receiver = await rawReceiverOf((socket) => {
    socket.write(OK);
    const drip = setInterval(() => socket.write("X-A: b\r\n"), 50);
    socket.once("close", () => clearInterval(drip));
  });
  const outcome = await deliver(senderOf({ timeoutMs: 400 }), receiver.url);
  expect(outcome).toMatchObject({ statusCode: null, error: { class: "timeout" } });
  expect(outcome.durationMs).toBeLessThan(2_000);
});

/** Writes for as long as the other side takes it. */
function flood(socket: Socket, chunk: string | Buffer): void {
  const pour = () => {
    while (!socket.destroyed && socket.write(chunk));
  };
  socket.on("drain", pour);
  pour();
}

test.each([
  ["of one length", "Content-Length: 1000000000000\r\n\r\n", "x".repeat(65_536)],
  ["until the end of the connection", "\r\n", "x".repeat(65_536)],
  ["in chunks", "Transfer-Encoding: chunked\r\n\r\n", `1000\r\n${"x".repeat(4_096)}\r\n`],
])("an endless body %s is cut at 4 KB, at once", async (_what, rest, chunk) => {
  const receiver = await rawReceiverOf((socket) => {
    socket.write(`${OK}${rest}`);
    flood(socket, chunk);
  });
  const outcome = await deliver(senderOf(), receiver.url);
  expect(outcome).toMatchObject({ statusCode: 200, error: null, truncated: true, responseBody: "x".repeat(4_096) });
  expect(outcome.durationMs).toBeLessThan(2_000);
  await receiver.closed(0);
  // What the system's buffers of both sides took, and no more.
  expect(receiver.sockets[0]?.bytesWritten).toBeLessThan(32 * 1024 * 1024);
});

test.each([
  ["interim responses", "", "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n".repeat(500)],
  ["one chunk's extension", `${OK}Transfer-Encoding: chunked\r\n\r\n5;a=`, "x".repeat(65_536)],
  ["many chunks' extensions", `${OK}Transfer-Encoding: chunked\r\n\r\n`, `1;a=${"x".repeat(8_000)}\r\na\r\n`],
  ["trailers", `${OK}Transfer-Encoding: chunked\r\n\r\n0\r\n`, "X-A: b\r\n".repeat(1_000)],
])("endless %s are refused", async (_what, start, more) => {
  const receiver = await rawReceiverOf((socket) => {
    socket.write(start);
    flood(socket, more);
  });
  const outcome = await deliver(senderOf(), receiver.url);
  expect(outcome.error).toMatchObject({ class: "protocol" });
  expect(outcome.durationMs).toBeLessThan(2_000);
  await receiver.closed(0);
});

test("a compressed body stays what it is", async () => {
  const bomb = gzipSync(Buffer.alloc(10_000_000));
  const receiver = await receiverOf((_req, res) => res.writeHead(200, { "Content-Encoding": "gzip" }).end(bomb));
  const outcome = await deliver(senderOf(), receiver.url);
  expect(outcome).toMatchObject({ statusCode: 200, error: null, truncated: true });
  expect(outcome.responseBody.length).toBeLessThanOrEqual(4_096);
  expect(outcome.responseBody).not.toMatch(/(?![\t\n])\p{Cc}/u);
});

test.each([
  ["no HTTP at all", "SSH-2.0-OpenSSH_9.6\r\n"],
  ["binary", Buffer.from([0x15, 0x03, 0x01, 0x00, 0x02, 0x02, 0x50])],
  ["a bad header", `${OK}no colon here\r\n\r\n`],
  ["a bad chunk size", `${OK}Transfer-Encoding: chunked\r\n\r\nxyz\r\n`],
  ["two lengths", `${OK}Content-Length: 1\r\nContent-Length: 2\r\n\r\nab`],
  ["one huge header", `${OK}X-A: ${"x".repeat(70_000)}\r\n\r\n`],
  ["a thousand headers", `${OK}${"X-A: 0123456789012345\r\n".repeat(1_000)}\r\n`],
  ["another protocol", "HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n"],
  ["an interim response that nothing asked for", "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n\r\n"],
])("an answer with %s is a fault of the protocol", async (_what, answer) => {
  const receiver = await answering(answer);
  const outcome = await deliver(senderOf(), receiver.url);
  expect(outcome.error).toMatchObject({ class: "protocol" });
  await receiver.closed(0);
});

test.each([
  ["after the request", (socket: Socket) => socket.once("data", () => socket.resetAndDestroy())],
  ["politely, without an answer", (socket: Socket) => socket.once("data", () => socket.end())],
  ["in the headers", (socket: Socket) => socket.once("data", () => socket.end(`${OK}X-A`))],
  ["in the body", (socket: Socket) => socket.once("data", () => socket.end(`${OK}Content-Length: 9\r\n\r\nhel`))],
  [
    "in a chunk",
    (socket: Socket) => socket.once("data", () => socket.end(`${OK}Transfer-Encoding: chunked\r\n\r\n9\r\nhel`)),
  ],
])("a connection that the receiver ends %s was reset", async (_what, end) => {
  const receiver = await rawReceiverOf(end);
  const outcome = await deliver(senderOf(), receiver.url);
  expect(outcome.error).toMatchObject({ class: "reset" });
});

test("a connection that the receiver ends at once was not made, or was reset", async () => {
  const receiver = await rawReceiverOf((socket) => socket.resetAndDestroy());
  const outcome = await deliver(senderOf(), receiver.url);
  expect(outcome.error?.class).toMatch(/^(connect|reset)$/);
});

test("a port where nobody listens refuses the connection", async () => {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as { port: number };
  await new Promise((resolve) => server.close(resolve));
  const outcome = await deliver(senderOf(), `http://127.0.0.1:${port}/`);
  expect(outcome).toMatchObject({
    statusCode: null,
    address: null,
    error: { class: "connect", message: "The connection could not be made (ECONNREFUSED)." },
    timings: { dnsMs: 0, connectMs: null, tlsMs: null, firstByteMs: null },
  });
});

test("an answer before the whole body was taken counts", async () => {
  const receiver = await rawReceiverOf((socket) => {
    socket.once("data", () => socket.end("HTTP/1.1 413 Too Much\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"));
  });
  const outcome = await senderOf().send({ url: receiver.url, headers: {}, body: Buffer.alloc(20_000) });
  expect(outcome).toMatchObject({ statusCode: 413 });
});

test("headers that cannot be sent are an outcome too", async () => {
  const outcome = await senderOf().send({
    url: "http://127.0.0.1:9/",
    headers: { "X-A": "b\r\nX-Injected: c" },
    body: Buffer.from("{}"),
  });
  expect(outcome.error).toEqual({ class: "protocol", message: "The delivery's headers cannot be sent." });
});
