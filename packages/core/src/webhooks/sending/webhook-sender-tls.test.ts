import { createServer as createHttpsServer } from "node:https";
import { createServer } from "node:net";
import { getCACertificates, setDefaultCACertificates, type TLSSocket } from "node:tls";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { deliver, rawReceiverOf, receiving, senderOf } from "./testing/receivers.ts";
import { selfSignedCertificate } from "./testing/self-signed-certificate.ts";

const named = selfSignedCertificate("hooks.example.test");
const addressed = selfSignedCertificate("127.0.0.1");
const expired = selfSignedCertificate("expired.example.test", { expired: true });
const unknown = selfSignedCertificate("hooks.example.test");

const before = getCACertificates("default");
beforeAll(() => setDefaultCACertificates([...before, named.cert, addressed.cert, expired.cert]));
afterAll(() => setDefaultCACertificates(before));

const lookup = async () => [{ address: "127.0.0.1", family: 4 }];

function tlsReceiver(certificate: { key: string; cert: string }) {
  const server = createHttpsServer(certificate, (req, res) => {
    const { servername, alpnProtocol } = req.socket as TLSSocket;
    res.end(JSON.stringify({ servername, alpnProtocol, host: req.headers.host }));
  });
  return receiving(server, "https");
}

test("a delivery over TLS is for the host's name, in HTTP/1.1, and tells the time of the handshake", async () => {
  const { port, sockets } = await tlsReceiver(named);
  const sender = senderOf({ lookup });
  const outcome = await deliver(sender, `https://hooks.example.test:${port}/`);
  expect(outcome).toMatchObject({
    statusCode: 200,
    error: null,
    address: "127.0.0.1",
    timings: { tlsMs: expect.any(Number) },
  });
  expect(JSON.parse(outcome.responseBody)).toEqual({
    servername: "hooks.example.test",
    alpnProtocol: "http/1.1",
    host: `hooks.example.test:${port}`,
  });
  expect(await deliver(sender, `https://hooks.example.test:${port}/`)).toMatchObject({ timings: { tlsMs: null } });
  expect(sockets).toHaveLength(1);
});

test("a name with the dot of the root is that name", async () => {
  const { port } = await tlsReceiver(named);
  const outcome = await deliver(senderOf({ lookup }), `https://hooks.example.test.:${port}/`);
  expect(JSON.parse(outcome.responseBody)).toMatchObject({ servername: "hooks.example.test" });
});

test("an address can have a certificate too, and is not sent as a server name", async () => {
  const { url } = await tlsReceiver(addressed);
  const outcome = await deliver(senderOf(), url);
  expect(JSON.parse(outcome.responseBody)).toMatchObject({ servername: false });
});

test.each([
  ["nobody vouches for", unknown, "hooks.example.test", "DEPTH_ZERO_SELF_SIGNED_CERT"],
  ["is for another name", named, "other.example.test", "ERR_TLS_CERT_ALTNAME_INVALID"],
  ["has expired", expired, "expired.example.test", "CERT_HAS_EXPIRED"],
  ["is for another address", named, "127.0.0.1", "ERR_TLS_CERT_ALTNAME_INVALID"],
])("a certificate that %s is refused, whatever the environment says", async (_what, certificate, host, code) => {
  vi.stubEnv("NODE_TLS_REJECT_UNAUTHORIZED", "0");
  try {
    const receiver = await tlsReceiver(certificate);
    const outcome = await deliver(senderOf({ lookup }), `https://${host}:${receiver.port}/`);
    expect(outcome).toMatchObject({ statusCode: null, address: "127.0.0.1", error: { class: "tls" } });
    expect(outcome.error?.message).toContain(code);
    await receiver.closed(0);
  } finally {
    vi.unstubAllEnvs();
  }
});

test("a server that speaks plain HTTP fails the handshake", async () => {
  const { port } = await rawReceiverOf((socket) => socket.end("HTTP/1.1 400 Bad Request\r\n\r\n"));
  const outcome = await deliver(senderOf(), `https://127.0.0.1:${port}/`);
  expect(outcome.error).toMatchObject({ class: "tls" });
});

test("a server that closes in the handshake fails it", async () => {
  const { port } = await receiving(
    createServer((socket) => socket.once("data", () => socket.destroy())),
    "https",
  );
  expect((await deliver(senderOf(), `https://127.0.0.1:${port}/`)).error).toMatchObject({ class: "tls" });
});

test("a server that hangs in the handshake is left at the deadline", async () => {
  const receiver = await rawReceiverOf(() => {});
  const outcome = await deliver(senderOf({ timeoutMs: 600 }), `https://127.0.0.1:${receiver.port}/`);
  expect(outcome).toMatchObject({
    error: { class: "timeout" },
    timings: { connectMs: expect.any(Number), tlsMs: null },
  });
  expect(outcome.error?.message).toContain("in the TLS handshake");
  await receiver.closed(0);
});

test("an endless body over TLS is cut, and its connection closed", async () => {
  const server = createHttpsServer(addressed, (_req, res) => {
    const pour = () => {
      while (!res.destroyed && res.write("x".repeat(65_536)));
    };
    res.on("drain", pour);
    pour();
  });
  const receiver = await receiving(server, "https");
  expect(await deliver(senderOf(), receiver.url)).toMatchObject({ statusCode: 200, error: null, truncated: true });
  await receiver.closed(0);
});

test("endless interim responses over TLS are refused", async () => {
  const server = createHttpsServer(addressed, (_req, res) => {
    const pour = () => {
      while (!res.destroyed && res.socket?.write("HTTP/1.1 103 Early Hints\r\n\r\n".repeat(500)));
    };
    res.socket?.on("drain", pour);
    pour();
  });
  const receiver = await receiving(server, "https");
  expect((await deliver(senderOf(), receiver.url)).error).toMatchObject({ class: "protocol" });
});
