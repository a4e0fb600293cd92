import {
  AuthenticationError,
  ConflictError,
  createQuayside,
  NetworkError,
  NotFoundError,
  PermissionError,
  type QuaysideError,
  type QuaysideOptions,
  RateLimitError,
  ServerError,
  ValidationError,
} from "@quayside/sdk";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { queueDeployment, setStatus } from "../support/deployments.ts";
import { startTestQuayside, type TestQuayside } from "../support/quayside.ts";
import { openTcpGate } from "../support/tcp-gate.ts";
import { until } from "../support/until.ts";

let quayside: TestQuayside;

beforeAll(async () => {
  quayside = await startTestQuayside({}, "api");
});

afterAll(() => quayside.stop());

function client(options: Partial<QuaysideOptions> = {}) {
  const made = createQuayside({ baseUrl: quayside.baseUrl, token: quayside.adminToken, ...options });
  onTestFinished(() => made.close());
  return made;
}

async function failureOf(call: Promise<unknown>): Promise<QuaysideError> {
  return call.then(
    () => {
      throw new Error("The call succeeded.");
    },
    (error: QuaysideError) => error,
  );
}

test("calls are typed from the router: a project is made, read, renamed, listed and deleted", async () => {
  const { api } = client({ baseUrl: `${quayside.baseUrl}/` });
  const made = await api.hosting.projects.create.mutate({ name: "Typed" });
  expect(made.slug).toBe("typed");
  expect((await api.hosting.projects.update.mutate({ id: made.id, name: "Renamed" })).name).toBe("Renamed");
  const { projects } = await api.hosting.projects.list.query();
  expect(projects.map(({ id }) => id)).toContain(made.id);
  await api.hosting.projects.delete.mutate({ id: made.id });
  expect(await failureOf(api.hosting.projects.get.query({ identifier: made.id }))).toBeInstanceOf(NotFoundError);
});

test("calls of one moment travel together, at most twenty in a request", async () => {
  const requests: string[] = [];
  const counting: typeof fetch = (input, init) => {
    requests.push(String(input));
    return fetch(input, init);
  };
  const { api } = client({ fetch: counting });
  const answers = await Promise.all(Array.from({ length: 45 }, () => api.registry.health.query()));
  expect(answers.every(({ status }) => status === "ok")).toBe(true);
  expect(requests).toHaveLength(3);
});

test("a token that is asked for anew is used at once", async () => {
  let token: string | undefined;
  const { api } = client({ token: () => token });
  expect(await failureOf(api.identity.sessions.whoami.query())).toMatchObject({ code: "sign_in_required" });
  token = quayside.adminToken;
  expect((await api.identity.sessions.whoami.query()).user.name).toBe("admin");
});

test("each kind of refusal has its class, with status, code and request id", async () => {
  const { api } = client();
  const reader = await quayside.makeKey(quayside.adminToken, { scopes: ["read"] });
  const stranger = await failureOf(client({ token: "qs_test_x" }).api.crm.stats.query());
  expect(stranger).toBeInstanceOf(AuthenticationError);
  expect(stranger).toMatchObject({
    status: 401,
    code: "invalid_credentials",
    requestId: expect.stringMatching(/^[0-9a-f-]{36}$/),
  });
  const weak = await failureOf(client({ token: reader.secret }).api.hosting.projects.create.mutate({ name: "No" }));
  expect(weak).toBeInstanceOf(PermissionError);
  const invalid = await failureOf(api.hosting.projects.create.mutate({ name: "" }));
  expect(invalid).toBeInstanceOf(ValidationError);
  expect(invalid.issues[0]).toMatchObject({ field: "name" });
  await api.identity.users.create.mutate({ name: "twice" });
  const twice = await failureOf(api.identity.users.create.mutate({ name: "twice" }));
  expect(twice).toBeInstanceOf(ConflictError);
  expect(twice.code).toBe("user_exists");
});

test("a key past its limit is told how long to wait", async () => {
  const { secret } = await quayside.makeKey(quayside.adminToken, { scopes: ["read"], rateLimitOverride: { read: 1 } });
  const { api } = client({ token: secret });
  const limited = await until("the limit is reached", async () => {
    const error = await api.crm.stats.query().catch((thrown: unknown) => thrown);
    return error instanceof RateLimitError ? error : null;
  });
  expect(limited.retryAfterMs).toBeGreaterThan(0);
});

test("a server without its database is a server error, no server at all a network error", async () => {
  const gate = await openTcpGate(quayside.databaseUrl);
  const cut = await startTestQuayside({ DATABASE_URL: gate.url }, "api");
  onTestFinished(() => gate.close());
  const { api } = client({ baseUrl: cut.baseUrl, token: cut.adminToken });
  gate.shut();
  const down = await failureOf(api.crm.stats.query());
  expect(down).toBeInstanceOf(ServerError);
  expect(down).toMatchObject({ status: 503, code: "database_unavailable" });
  gate.reopen();
  await cut.stop();
  const gone = await failureOf(api.crm.stats.query());
  expect(gone).toBeInstanceOf(NetworkError);
  expect(gone.status).toBeNull();
});

test.each(["websocket", "sse"] as const)(
  "a stream over %s says what happens and ends when its loop is left",
  async (streams) => {
    const deployment = await queueDeployment(quayside);
    const statuses: string[] = [];
    for await (const { status } of client({ streams }).deployments.stream(deployment)) {
      statuses.push(status);
      if (statuses.length === 1) await setStatus(quayside, deployment, "next");
      if (status === "next") break;
    }
    expect(statuses).toEqual(["queued", "next"]);
  },
);

test.each(["websocket", "sse"] as const)(
  "a stream over %s of what is not there throws NotFoundError",
  async (streams) => {
    const missing = client({ streams }).deployments.stream("018f0000-0000-7000-8000-000000000000");
    expect(await failureOf(missing.next())).toBeInstanceOf(NotFoundError);
  },
);

test.each(["websocket", "sse"] as const)(
  "a stream over %s with a wrong token throws AuthenticationError",
  async (streams) => {
    const deployment = await queueDeployment(quayside);
    const refused = client({ streams, token: "qs_test_x" }).deployments.stream(deployment);
    expect(await failureOf(refused.next())).toBeInstanceOf(AuthenticationError);
  },
);
