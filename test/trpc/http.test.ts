import { afterAll, beforeAll, expect, test } from "vitest";
import { SECRETS, startTestQuayside, type TestQuayside } from "../support/quayside.ts";
import { sendRaw } from "../support/send-raw.ts";

let quayside: TestQuayside;

beforeAll(async () => {
  quayside = await startTestQuayside({}, "api");
});

afterAll(() => quayside.stop());

const query = (path: string, input?: unknown, token = quayside.adminToken) =>
  quayside.call(
    "GET",
    `/trpc/${path}${input === undefined ? "" : `?input=${encodeURIComponent(JSON.stringify(input))}`}`,
    {
      token,
    },
  );

const mutate = (path: string, input?: unknown, token = quayside.adminToken) =>
  quayside.call("POST", `/trpc/${path}`, { token, body: input ?? {} });

const batch = (paths: readonly string[], inputs: Record<number, unknown> = {}) =>
  quayside.call("GET", `/trpc/${paths.join(",")}?batch=1&input=${encodeURIComponent(JSON.stringify(inputs))}`, {
    token: quayside.adminToken,
  });

test("a query answers its data and the request's id", async () => {
  const reply = await query("identity.sessions.whoami");
  expect(reply.status).toBe(200);
  expect(reply.body.result.data.user.name).toBe("admin");
  expect(reply.headers.get("x-request-id")).toMatch(/^[0-9a-f-]{36}$/);
  expect(reply.headers.get("cache-control")).toBe("no-store");
});

test("a mutation changes things, and a query then sees the change", async () => {
  const created = await mutate("hosting.projects.create", { name: "By tRPC" });
  expect(created.status).toBe(200);
  const read = await query("hosting.projects.get", { identifier: created.body.result.data.slug });
  expect(read.body.result.data.id).toBe(created.body.result.data.id);
});

test("signing in sets the session cookie", async () => {
  const reply = await mutate("identity.sessions.login", { username: "admin", password: "correct horse battery" });
  expect(reply.headers.get("set-cookie")).toMatch(/^registry_session=qss_.*; HttpOnly; SameSite=Lax$/);
});

test("a batch answers every call on its own, failed ones among good ones", async () => {
  const reply = await batch(["identity.sessions.whoami", "hosting.projects.get", "crm.stats"], {
    1: { identifier: "no-such-project" },
  });
  expect(reply.status).toBe(207);
  const [whoami, missing, stats] = reply.body;
  expect(whoami.result.data.user.name).toBe("admin");
  expect(missing.error.data).toMatchObject({ errorCode: "not_found", httpStatus: 404 });
  expect(stats.result.data).toEqual({ people: 0, companies: 0 });
});

test("twenty calls make a batch, twenty-one do not", async () => {
  const names = (count: number) => Array.from({ length: count }, () => "registry.health");
  const full = await batch(names(20));
  expect(full.status).toBe(200);
  expect(full.body).toHaveLength(20);
  const tooMany = await batch(names(21));
  expect(tooMany.status).toBe(400);
  expect(tooMany.text).toContain("invalid_request");
});

test("calls of one batch do not lend each other their authority", async () => {
  const { token } = await quayside.signUp("batcher");
  const inputs = JSON.stringify({ 0: { name: "made-in-batch" }, 1: {} });
  const order = ["identity.users.create", "identity.sessions.issueJwt"];
  const reply = await quayside.call("POST", `/trpc/${order.join(",")}?batch=1`, {
    token,
    rawBody: inputs,
    headers: { "x-super-admin-token": SECRETS.SUPER_ADMIN_TOKEN },
  });
  const [created, issued] = reply.body;
  expect(created.result.data.name).toBe("made-in-batch");
  expect(issued.result.data.token).toMatch(/^[\w-]+\.[\w-]+\.[\w-]+$/);
});

test("an error tells its code, status, request id and faults", async () => {
  const reply = await mutate("identity.apiKeys.create", { name: "", environment: "moon", scopes: [], extra: 1 });
  const { message, data } = reply.body.error;
  expect(data).toMatchObject({
    errorCode: "validation_failed",
    httpStatus: 422,
    code: "BAD_REQUEST",
    retryAfterMs: null,
  });
  expect(data.requestId).toBe(reply.headers.get("x-request-id"));
  expect(data.issues.map((issue: { field: string }) => issue.field).sort()).toEqual([
    "environment",
    "extra",
    "name",
    "scopes",
  ]);
  expect(message).toContain("is not valid");
  expect(reply.text).not.toMatch(/stack|node_modules/);
});

test("without a credential it is 401, with a wrong one too, and each says why", async () => {
  const nobody = await quayside.call("GET", "/trpc/crm.stats");
  expect(nobody.status).toBe(401);
  expect(nobody.body.error.data.errorCode).toBe("sign_in_required");
  const stranger = await query("crm.stats", undefined, "qs_test_wrong");
  expect(stranger.status).toBe(401);
  expect(stranger.body.error.data.errorCode).toBe("invalid_credentials");
});

test("a key without the scope is 403, and one past its limit 429 with the time to wait", async () => {
  const reader = await quayside.makeKey(quayside.adminToken, { scopes: ["read"], rateLimitOverride: { read: 1 } });
  const refused = await mutate("hosting.projects.create", { name: "No" }, reader.secret);
  expect(refused.status).toBe(403);
  expect(refused.body.error.data.errorCode).toBe("insufficient_scope");
  const replies = [];
  // Two minutes' worth at most, should the minute turn between them.
  for (let i = 0; i < 3; i += 1) replies.push(await query("crm.stats", undefined, reader.secret));
  const limited = replies.find(({ status }) => status === 429);
  expect(limited?.body.error.data).toMatchObject({ errorCode: "rate_limited", httpStatus: 429 });
  expect(limited?.body.error.data.retryAfterMs).toBeGreaterThan(0);
});

test("an unknown procedure is 404", async () => {
  for (const path of ["no.such.thing", "__proto__", "hosting.projects", "constructor.name"]) {
    const reply = await query(path);
    expect(reply.status).toBe(404);
    expect(reply.body.error.data.errorCode).toBe("not_found");
  }
});

test("a mutation cannot be made with GET", async () => {
  const reply = await query("hosting.projects.create", { name: "By GET" });
  expect(reply.status).toBe(405);
  expect(reply.body.error.data.errorCode).toBe("method_not_allowed");
});

test("a body of more than 16 MiB is 413", async () => {
  const reply = await mutate("hosting.projects.create", { name: "x".repeat(16 * 1_048_576) });
  expect(reply.status).toBe(413);
  expect(reply.body.error.data.errorCode).toBe("payload_too_large");
});

test("an oversize body that hides its length is 413 as well", async () => {
  const reply = await sendRaw(quayside.baseUrl, {
    method: "POST",
    path: "/trpc/hosting.projects.create",
    headers: { "content-type": "application/json", authorization: `Bearer ${quayside.adminToken}` },
    chunks: ['{"name":"', ...Array.from({ length: 260 }, () => "x".repeat(65_536)), '"}'],
  });
  expect(reply.status).toBe(413);
});

test("a malformed body is 400", async () => {
  const reply = await quayside.call("POST", "/trpc/hosting.projects.create", {
    token: quayside.adminToken,
    rawBody: '{"name": ',
  });
  expect(reply.status).toBe(400);
  expect(reply.body.error.data.errorCode).toBe("malformed_body");
});

test("a form from another site's page is not taken for a call", async () => {
  const reply = await quayside.call("POST", "/trpc/hosting.projects.create", {
    rawBody: '{"name":"CSRF"}',
    headers: { "content-type": "text/plain", cookie: `registry_session=${quayside.adminToken}` },
  });
  expect(reply.status).toBe(415);
});

test("a change signed in by cookie must come from the same site", async () => {
  const from = (headers: Record<string, string>) =>
    quayside.call("POST", "/trpc/hosting.projects.create", {
      body: { name: "By cookie" },
      headers: { cookie: `registry_session=${quayside.adminToken}`, ...headers },
    });
  for (const headers of [{ origin: "https://evil.example" }, { "sec-fetch-site": "cross-site" }, { origin: "null" }]) {
    const reply = await from(headers);
    expect(reply.status).toBe(403);
    expect(reply.body.error.data.errorCode).toBe("cross_site_request");
  }
  expect((await from({ "sec-fetch-site": "same-origin" })).status).toBe(200);
});

test("a broken percent-encoding in the path is 400", async () => {
  const reply = await sendRaw(quayside.baseUrl, { path: "/trpc/%zz" });
  expect(reply.status).toBe(400);
});
