import { connect } from "node:net";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { SECRETS, startTestQuayside, type TestQuayside } from "../support/quayside.ts";
import { openTrpcSocket } from "../support/trpc-socket.ts";
import { until } from "../support/until.ts";

let quayside: TestQuayside;

beforeAll(async () => {
  quayside = await startTestQuayside({}, "api");
});

afterAll(() => quayside.stop());

async function open(options: Parameters<typeof openTrpcSocket>[1] = {}) {
  const socket = await openTrpcSocket(quayside.baseUrl, options);
  onTestFinished(() => socket.close());
  return socket;
}

const bearer = (token: string) => ({ headers: { authorization: `Bearer ${token}` } });

test("a credential in the upgrade's header is the caller's", async () => {
  const socket = await open(bearer(quayside.adminToken));
  expect(await socket.call("query", "identity.sessions.whoami")).toMatchObject({
    result: { data: { user: { name: "admin" }, via: { kind: "session" } } },
  });
});

test("a credential in the connection parameters is the caller's", async () => {
  const { secret } = await quayside.makeKey(quayside.adminToken);
  const socket = await open({ connectionParams: { token: secret } });
  expect(await socket.call("query", "identity.sessions.whoami")).toMatchObject({
    result: { data: { via: { kind: "api_key" } } },
  });
});

test("the session cookie signs in a page of the same origin", async () => {
  const socket = await open({ headers: { cookie: `registry_session=${quayside.adminToken}` } });
  expect(await socket.call("mutation", "hosting.projects.create", { name: "By cookie" })).toMatchObject({
    result: { data: { name: "By cookie" } },
  });
});

test("the cookie of a page of another origin is refused", async () => {
  const socket = await open({
    headers: { cookie: `registry_session=${quayside.adminToken}`, origin: "https://evil.example" },
  });
  expect(await socket.call("mutation", "hosting.projects.create", { name: "By evil" })).toMatchObject({
    error: { data: { errorCode: "cross_site_request", httpStatus: 403 } },
  });
});

test("a bad token is told with each call, and what needs none still works", async () => {
  const socket = await open({ connectionParams: { token: "qs_test_nonsense" } });
  expect(await socket.call("query", "crm.stats")).toMatchObject({
    error: { data: { errorCode: "invalid_credentials", httpStatus: 401 } },
  });
  expect(await socket.call("query", "registry.health")).toMatchObject({ result: { data: { status: "ok" } } });
});

test("nobody is told to sign in", async () => {
  const socket = await open();
  expect(await socket.call("query", "crm.stats")).toMatchObject({ error: { data: { errorCode: "sign_in_required" } } });
});

test("a key that is revoked can do nothing more over a socket that was open before", async () => {
  const key = await quayside.makeKey(quayside.adminToken);
  const socket = await open(bearer(key.secret));
  expect(await socket.call("query", "crm.stats")).toHaveProperty("result");
  await quayside.call("DELETE", `/v1/crm/api-keys/${key.id}`, { token: quayside.adminToken });
  const refused = await until(
    "the key is refused",
    async () => {
      const answer = await socket.call("query", "crm.stats");
      return answer.error ? answer : null;
    },
    1_000,
  );
  expect(refused.error?.data).toMatchObject({ errorCode: "invalid_credentials" });
});

test("the super-admin token opens its own doors over a socket, and changes nothing at the others", async () => {
  const { token } = await quayside.signUp("socketeer");
  const socket = await open({
    headers: { authorization: `Bearer ${token}`, "x-super-admin-token": SECRETS.SUPER_ADMIN_TOKEN },
  });
  const whoami = { result: { data: { user: { name: "socketeer", superAdmin: false } } } };
  expect(await socket.call("query", "identity.sessions.whoami")).toMatchObject(whoami);
  expect(await socket.call("mutation", "identity.users.create", { name: "by-socket" })).toMatchObject({
    result: { data: { name: "by-socket" } },
  });
  expect(await socket.call("query", "identity.sessions.whoami")).toMatchObject(whoami);
});

test("an error over the socket has the same shape as over HTTP", async () => {
  const socket = await open(bearer(quayside.adminToken));
  const { error } = await socket.call("mutation", "identity.apiKeys.create", { name: "" });
  expect(error?.data).toMatchObject({ errorCode: "validation_failed", httpStatus: 422, code: "BAD_REQUEST" });
  expect(error?.data["requestId"]).toMatch(/^[0-9a-f-]{36}$/);
  expect(error?.data["issues"]).toBeInstanceOf(Array);
});

test("nonsense gets an error and does not end the server", async () => {
  const socket = await open(bearer(quayside.adminToken));
  socket.sendRaw("this is not JSON");
  await until("an error comes", () => socket.messages.some((message) => message.error));
  const other = await open(bearer(quayside.adminToken));
  expect(await other.call("query", "registry.health")).toHaveProperty("result");
});

test("more than twenty calls in one message are refused", async () => {
  const socket = await open(bearer(quayside.adminToken));
  const call = (id: number) => ({ id, jsonrpc: "2.0", method: "query", params: { path: "registry.health" } });
  socket.sendRaw(JSON.stringify(Array.from({ length: 21 }, (_, i) => call(i + 100))));
  await until("the refusal comes", () => socket.messages.some((message) => message.error));
  expect(socket.messages.filter((message) => message.result)).toEqual([]);
});

test("a message of more than 1 MiB ends the socket", async () => {
  const socket = await open(bearer(quayside.adminToken));
  socket.sendRaw("x".repeat(1_048_577));
  expect((await socket.closed).code).toBe(1009);
});

test("an upgrade elsewhere is 404, and a client that breaks off meanwhile harms nobody", async () => {
  const { hostname, port } = new URL(quayside.baseUrl);
  const upgrade = (path: string) =>
    `GET ${path} HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n`;
  const answer = await new Promise<string>((resolve) => {
    const socket = connect(Number(port), hostname, () => socket.write(upgrade("/elsewhere")));
    socket.once("data", (data) => resolve(data.toString()));
    socket.once("error", () => {});
    socket.once("close", () => {});
    onTestFinished(() => void socket.destroy());
  });
  expect(answer).toMatch(/^HTTP\/1.1 404 /);
  for (let i = 0; i < 20; i += 1) {
    await new Promise<void>((resolve) => {
      const socket = connect(Number(port), hostname, () => {
        socket.write(upgrade(i % 2 === 0 ? "/elsewhere" : "/trpc"), () => socket.resetAndDestroy());
      });
      socket.on("error", () => {});
      socket.once("close", () => resolve());
    });
  }
  expect((await quayside.call("GET", "/livez")).status).toBe(200);
});
