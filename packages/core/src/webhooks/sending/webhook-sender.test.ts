import type { IncomingHttpHeaders } from "node:http";
import { expect, test, vi } from "vitest";
import { deliver, receiverOf, senderOf } from "./testing/receivers.ts";

test("a delivery arrives as it was given, and its outcome tells how it went", async () => {
  const seen: { method: string | undefined; url: string | undefined; headers: IncomingHttpHeaders; body: string }[] =
    [];
  const receiver = await receiverOf(async (req, res) => {
    const body = Buffer.concat(await req.toArray()).toString();
    seen.push({ method: req.method, url: req.url, headers: req.headers, body });
    res.end("thanks");
  });
  const outcome = await senderOf().send({
    url: `${receiver.url}/in%20box?key=1#part`,
    headers: { "webhook-id": "e1", "User-Agent": "Quayside-Webhooks/1" },
    body: Buffer.from('{"name":"Zoë"}'),
  });
  expect(outcome).toEqual({
    statusCode: 200,
    error: null,
    durationMs: expect.any(Number),
    timings: { dnsMs: 0, connectMs: expect.any(Number), tlsMs: null, firstByteMs: expect.any(Number) },
    address: "127.0.0.1",
    responseBody: "thanks",
    truncated: false,
    retryAfterMs: null,
  });
  expect(seen).toEqual([
    {
      method: "POST",
      url: "/hook/in%20box?key=1",
      body: '{"name":"Zoë"}',
      headers: {
        host: `127.0.0.1:${receiver.port}`,
        connection: "keep-alive",
        "content-length": "15",
        "accept-encoding": "identity",
        "user-agent": "Quayside-Webhooks/1",
        "webhook-id": "e1",
      },
    },
  ]);
});

test("the host's name is looked up once and stays the Host header", async () => {
  const lookup = vi.fn(async () => [{ address: "127.0.0.1", family: 4 }]);
  const receiver = await receiverOf((req, res) => res.end(req.headers.host));
  const outcome = await deliver(senderOf({ lookup }), `http://hooks.example.test:${receiver.port}/`);
  expect(outcome).toMatchObject({
    error: null,
    address: "127.0.0.1",
    responseBody: `hooks.example.test:${receiver.port}`,
  });
  expect(lookup.mock.calls).toEqual([["hooks.example.test", { all: true }]]);
});

test("headers that belong to the connection cannot be set", async () => {
  const receiver = await receiverOf((req, res) => res.end(`${req.headers.host} ${req.headers["accept-encoding"]}`));
  const outcome = await senderOf().send({
    url: receiver.url,
    headers: {
      HOST: "internal",
      "accept-encoding": "gzip",
      Connection: "close",
      Expect: "100-continue",
      TE: "trailers",
    },
    body: Buffer.from("{}"),
  });
  expect(outcome).toMatchObject({ error: null, responseBody: `127.0.0.1:${receiver.port} identity` });
});

test.each([400, 404, 410, 422, 429, 500, 503])(
  "a refusal with %d is an outcome, with what the body says",
  async (status) => {
    const receiver = await receiverOf((_req, res) => res.writeHead(status).end("not today"));
    const outcome = await deliver(senderOf(), receiver.url);
    expect(outcome).toMatchObject({ statusCode: status, error: null, responseBody: "not today", retryAfterMs: null });
  },
);

test("the time that a receiver asks for is told", async () => {
  const receiver = await receiverOf((_req, res) => res.writeHead(503, { "Retry-After": "30" }).end());
  expect(await deliver(senderOf(), receiver.url)).toMatchObject({ statusCode: 503, retryAfterMs: 30_000 });
});

test.each([301, 302, 303, 307, 308])("a redirect with %d is not followed", async (status) => {
  const elsewhere = await receiverOf((_req, res) => res.end());
  const receiver = await receiverOf((req, res) => {
    const Location = req.url === "/hook" ? elsewhere.url : "http://169.254.169.254/latest/meta-data/";
    res.writeHead(status, { Location }).end();
  });
  const sender = senderOf();
  expect(await deliver(sender, receiver.url)).toMatchObject({ statusCode: status, error: null });
  expect(await deliver(sender, `${receiver.url}/2`)).toMatchObject({ statusCode: status, address: "127.0.0.1" });
  expect(elsewhere.sockets).toHaveLength(0);
});

test("a second delivery to the same server goes over the same connection", async () => {
  const receiver = await receiverOf((_req, res) => res.end("ok"));
  const sender = senderOf();
  await deliver(sender, receiver.url);
  const second = await deliver(sender, `${receiver.url}/other`);
  expect(receiver.sockets).toHaveLength(1);
  expect(second).toMatchObject({
    statusCode: 200,
    address: "127.0.0.1",
    timings: { dnsMs: null, connectMs: null, tlsMs: null, firstByteMs: expect.any(Number) },
  });
});

test("a connection that the server closes is not used again", async () => {
  const receiver = await receiverOf((_req, res) => res.writeHead(200, { Connection: "close" }).end("ok"));
  const sender = senderOf();
  await deliver(sender, receiver.url);
  expect(await deliver(sender, receiver.url)).toMatchObject({ error: null, statusCode: 200 });
  expect(receiver.sockets).toHaveLength(2);
});

test("a connection that breaks while nothing is sent is replaced", async () => {
  const receiver = await receiverOf((_req, res) => res.end("ok"));
  const sender = senderOf();
  await deliver(sender, receiver.url);
  receiver.sockets[0]?.resetAndDestroy();
  await receiver.closed(0);
  await vi.waitFor(async () => expect(await deliver(sender, receiver.url)).toMatchObject({ statusCode: 200 }));
  expect(receiver.sockets.length).toBeGreaterThan(1);
});

test("a kept connection closes by itself when nothing more is sent, unless the server promises to keep it", async () => {
  const patient = await receiverOf((_req, res) => res.writeHead(200, { "Keep-Alive": "timeout=60" }).end("ok"));
  const silent = await receiverOf((_req, res) => res.end("ok"));
  const sender = senderOf();
  await deliver(sender, patient.url);
  await deliver(sender, silent.url);
  await silent.closed(0);
  expect(patient.sockets[0]?.destroyed).toBe(false);
});

test("100 deliveries at once all arrive, over a bounded number of connections", async () => {
  const paths = new Set<string | undefined>();
  const receiver = await receiverOf((req, res) => {
    paths.add(req.url);
    setImmediate(() => res.end("ok"));
  });
  const sender = senderOf({ timeoutMs: 20_000 });
  const outcomes = await Promise.all(Array.from({ length: 100 }, (_, i) => deliver(sender, `${receiver.url}/${i}`)));
  expect(outcomes.map(({ statusCode }) => statusCode)).toEqual(Array(100).fill(200));
  expect(paths.size).toBe(100);
  expect(receiver.sockets.length).toBeLessThanOrEqual(64);
});

test("a body as long as the limit is whole and the connection is kept; one byte more is cut and it is closed", async () => {
  const receiver = await receiverOf((req, res) => res.end("x".repeat(req.url === "/hook/whole" ? 4_096 : 4_097)));
  const sender = senderOf();
  const whole = await deliver(sender, `${receiver.url}/whole`);
  expect(whole).toMatchObject({ truncated: false, responseBody: "x".repeat(4_096) });
  const cut = await deliver(sender, `${receiver.url}/cut`);
  expect(cut).toMatchObject({ statusCode: 200, error: null, truncated: true, responseBody: "x".repeat(4_096) });
  expect(receiver.sockets).toHaveLength(1);
  await receiver.closed(0);
});

test("what a receiver sets as a cookie is not sent back", async () => {
  const receiver = await receiverOf((req, res) => res.setHeader("Set-Cookie", "a=b").end(req.headers.cookie ?? "none"));
  const sender = senderOf();
  await deliver(sender, receiver.url);
  expect(await deliver(sender, receiver.url)).toMatchObject({ responseBody: "none" });
});

test("a proxy in the environment is not used", async () => {
  const proxy = await receiverOf((_req, res) => res.end("proxied"));
  for (const name of ["http_proxy", "HTTP_PROXY", "ALL_PROXY"]) vi.stubEnv(name, proxy.url);
  vi.stubEnv("NODE_USE_ENV_PROXY", "1");
  try {
    const receiver = await receiverOf((_req, res) => res.end("direct"));
    expect(await deliver(senderOf(), receiver.url)).toMatchObject({ responseBody: "direct" });
    expect(proxy.sockets).toHaveLength(0);
  } finally {
    vi.unstubAllEnvs();
  }
});

test("interim responses are passed over", async () => {
  const receiver = await receiverOf((_req, res) => {
    res.writeEarlyHints({ link: "</a.css>; rel=preload" });
    res.writeProcessing();
    res.writeHead(202).end("ok");
  });
  expect(await deliver(senderOf(), receiver.url)).toMatchObject({ statusCode: 202, error: null, responseBody: "ok" });
});
