import { randomBytes } from "node:crypto";
import { connect } from "node:net";
import { createQuayside, type Quayside } from "@quayside/sdk";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { createTestDatabase } from "../support/database.ts";
import { queueDeployment, setStatus } from "../support/deployments.ts";
import { startTestQuayside, type TestQuayside } from "../support/quayside.ts";
import { connectTo } from "../support/sql.ts";
import { openTcpGate } from "../support/tcp-gate.ts";
import { openTrpcSocket } from "../support/trpc-socket.ts";
import { until } from "../support/until.ts";

let quayside: TestQuayside;

beforeAll(async () => {
  quayside = await startTestQuayside({}, "api");
});

afterAll(() => quayside.stop());

const admin = () => ({ headers: { authorization: `Bearer ${quayside.adminToken}` } });

/** What a subscription said so far, as `id status`. */
function said(socket: Awaited<ReturnType<typeof openTrpcSocket>>, id: number): { id: string; status: string }[] {
  return socket.messages.flatMap(({ id: of, result }) => {
    const tracked = result?.data as { id: string; data: { status: string } } | undefined;
    return of === id && result?.type === "data" && tracked ? [{ id: tracked.id, status: tracked.data.status }] : [];
  });
}

/** Collects what a stream of the SDK says, until the test ends. */
function collect(client: Quayside, deploymentId: string, lastEventId?: string) {
  const abort = new AbortController();
  const updates: { id: string; status: string }[] = [];
  let ended = false;
  const options = { signal: abort.signal, ...(lastEventId === undefined ? {} : { lastEventId }) };
  const done = (async () => {
    for await (const { id, status } of client.deployments.stream(deploymentId, options)) updates.push({ id, status });
    ended = true;
  })();
  onTestFinished(async () => {
    abort.abort();
    await done.catch(() => {});
    client.close();
  });
  return { updates, done, statuses: () => updates.map(({ status }) => status), hasEnded: () => ended };
}

function sdk(baseUrl: string, streams: "websocket" | "sse" = "websocket"): Quayside {
  return createQuayside({ baseUrl, token: quayside.adminToken, streams });
}

test("a subscription says everything from the first event, with ids that grow", async () => {
  const deployment = await queueDeployment(quayside);
  const socket = await openTrpcSocket(quayside.baseUrl, admin());
  onTestFinished(() => socket.close());
  const id = socket.subscribe("hosting.deployments.stream", { id: deployment });
  await until("the first event comes", () => said(socket, id).length === 1);
  await setStatus(quayside, deployment, "one");
  await setStatus(quayside, deployment, "two");
  await until("all events come", () => said(socket, id).length === 3);
  expect(said(socket, id).map(({ status }) => status)).toEqual(["queued", "one", "two"]);
  const ids = said(socket, id).map((event) => Number(event.id));
  expect(ids).toEqual([...ids].sort((a, b) => a - b));
});

test("a subscription with the last id goes on after it", async () => {
  const deployment = await queueDeployment(quayside);
  await setStatus(quayside, deployment, "one");
  const first = await openTrpcSocket(quayside.baseUrl, admin());
  const id = first.subscribe("hosting.deployments.stream", { id: deployment });
  await until("two events come", () => said(first, id).length === 2);
  first.close();
  await setStatus(quayside, deployment, "missed");
  const second = await openTrpcSocket(quayside.baseUrl, admin());
  onTestFinished(() => second.close());
  const lastEventId = said(first, id).at(-1)?.id;
  const resumed = second.subscribe("hosting.deployments.stream", { id: deployment, lastEventId });
  await until("the missed event comes", () => said(second, resumed).length > 0);
  await setStatus(quayside, deployment, "live");
  await until("the next event comes", () => said(second, resumed).length > 1);
  expect(said(second, resumed).map(({ status }) => status)).toEqual(["missed", "live"]);
});

test("a subscription to another organization's deployment is refused as if there were none", async () => {
  const deployment = await queueDeployment(quayside);
  const { token } = await quayside.signUp("snooper");
  const socket = await openTrpcSocket(quayside.baseUrl, { headers: { authorization: `Bearer ${token}` } });
  onTestFinished(() => socket.close());
  const id = socket.subscribe("hosting.deployments.stream", { id: deployment });
  const refusal = await until("it is refused", () => socket.messages.find((message) => message.id === id));
  expect(refusal.error?.data).toMatchObject({ errorCode: "not_found", httpStatus: 404 });
});

test.each(["websocket", "sse"] as const)(
  "an SDK stream over %s survives broken connections with nothing lost and nothing twice",
  async (streams) => {
    const deployment = await queueDeployment(quayside);
    const gate = await openTcpGate(quayside.baseUrl);
    onTestFinished(() => gate.close());
    const stream = collect(sdk(gate.url.replace(/\/$/, ""), streams), deployment);
    await until("the stream begins", () => stream.updates.length === 1);
    const expected = ["queued"];
    for (let round = 1; round <= 3; round += 1) {
      gate.shut();
      await until("the connection is broken", () => gate.open === 0);
      await setStatus(quayside, deployment, `missed-${round}`);
      gate.reopen();
      await until("the missed event comes", () => stream.statuses().includes(`missed-${round}`));
      await setStatus(quayside, deployment, `live-${round}`);
      await until("the live event comes", () => stream.statuses().includes(`live-${round}`));
      expected.push(`missed-${round}`, `live-${round}`);
    }
    expect(stream.statuses()).toEqual(expected);
    expect(new Set(stream.updates.map(({ id }) => id)).size).toBe(expected.length);
  },
  40_000,
);

test.each(["websocket", "sse"] as const)(
  "when the server stops and another starts at the same address, an SDK stream over %s goes on",
  async (streams) => {
    const database = await createTestDatabase();
    const first = await startTestQuayside({ DATABASE_URL: database.url }, "api");
    const { port } = new URL(first.baseUrl);
    const deployment = await queueDeployment(first);
    const client = createQuayside({ baseUrl: first.baseUrl, token: first.adminToken, streams });
    const stream = collect(client, deployment);
    await until("the stream begins", () => stream.updates.length === 1);
    const stoppingAt = performance.now();
    await first.stop();
    // Streams are ended, not waited for.
    expect(performance.now() - stoppingAt).toBeLessThan(5_000);
    const second = await startTestQuayside({ DATABASE_URL: database.url, PORT: port }, "api");
    onTestFinished(async () => {
      client.close();
      await second.stop();
      await database.drop();
    });
    await setStatus(second, deployment, "after the restart");
    await until("the stream goes on", () => stream.updates.length > 1);
    expect(stream.statuses()).toEqual(["queued", "after the restart"]);
  },
  40_000,
);

test("a server that stops tells its sockets to reconnect, and closes them with 'try again later'", async () => {
  const stopping = await startTestQuayside({}, "api");
  const socket = await openTrpcSocket(stopping.baseUrl);
  const stopped = stopping.stop();
  expect((await socket.closed).code).toBe(1013);
  expect(socket.messages).toContainEqual(expect.objectContaining({ method: "reconnect" }));
  await stopped;
});

test("closing the client ends its open streams", async () => {
  for (const streams of ["websocket", "sse"] as const) {
    const deployment = await queueDeployment(quayside);
    const client = sdk(quayside.baseUrl, streams);
    const stream = collect(client, deployment);
    await until("the stream begins", () => stream.updates.length === 1);
    client.close();
    await until(`the ${streams} stream ends`, () => stream.hasEnded());
  }
});

/** A socket whose owner never reads what comes. */
async function openDeafSocket() {
  const { hostname, port } = new URL(quayside.baseUrl);
  const socket = connect({ host: hostname, port: Number(port) });
  onTestFinished(() => void socket.destroy());
  const state = { cutOff: false };
  socket.on("error", () => {
    state.cutOff = true;
  });
  socket.write(
    `GET /trpc HTTP/1.1\r\nHost: ${hostname}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n` +
      `Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: ${randomBytes(16).toString("base64")}\r\n` +
      `Authorization: Bearer ${quayside.adminToken}\r\n\r\n`,
  );
  await new Promise((resolve) => socket.once("data", resolve));
  socket.pause();
  const send = (id: number, method: string, path: string, input?: unknown) =>
    socket.write(textFrame(JSON.stringify({ id, jsonrpc: "2.0", method, params: { path, input } })));
  return { send, state };
}

test("a burst reaches who reads, and piles up for nobody who does not", async () => {
  const deployment = await queueDeployment(quayside);
  const sql = connectTo(quayside.databaseUrl);
  onTestFinished(() => sql.end({ timeout: 1 }));
  const deaf = await openDeafSocket();
  for (let id = 1; id <= 20; id += 1) deaf.send(id, "subscription", "hosting.deployments.stream", { id: deployment });
  const listener = await openTrpcSocket(quayside.baseUrl, admin());
  onTestFinished(() => listener.close());
  const heard = listener.subscribe("hosting.deployments.stream", { id: deployment });
  await until("the listener listens", () => said(listener, heard).length === 1);
  const before = process.memoryUsage().rss;
  const rows = 1_000;
  // 16 MiB for the listener; 312 MiB for the deaf one's 20 subscriptions, were they all kept for it.
  await sql`INSERT INTO deployment_events (deployment_id, status, message)
    SELECT ${deployment}, 'loud', repeat('x', 16384) FROM generate_series(1, ${rows})`;
  await sql`SELECT pg_notify(${`deployments:${deployment}`}, '')`;
  await until("the listener has everything", () => said(listener, heard).length === rows + 1);
  expect((process.memoryUsage().rss - before) / 1_048_576).toBeLessThan(200);
});

test("a socket that asks and asks but never reads is cut off", async () => {
  const deaf = await openDeafSocket();
  let id = 0;
  await until("it is cut off", () => {
    for (let i = 0; i < 500 && !deaf.state.cutOff; i += 1) deaf.send(++id, "query", "identity.sessions.whoami");
    return deaf.state.cutOff;
  });
  expect((await quayside.call("GET", "/livez")).status).toBe(200);
});

/** A masked text frame of the WebSocket protocol (RFC 6455, section 5.2). */
function textFrame(text: string): Buffer {
  const payload = Buffer.from(text);
  const mask = randomBytes(4);
  const length =
    payload.length < 126
      ? Buffer.of(0x80 | payload.length)
      : Buffer.of(0x80 | 126, payload.length >> 8, payload.length & 255);
  const masked = payload.map((byte, i) => byte ^ (mask[i % 4] ?? 0));
  return Buffer.concat([Buffer.of(0x81), length, mask, masked]);
}
