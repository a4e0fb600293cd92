import { connect, createServer, type Server, type Socket } from "node:net";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createTestDatabase } from "../support/database.ts";
import { expectEnvelope } from "../support/expect-errors.ts";
import { SECRETS, startTestQuayside, type TestQuayside } from "../support/quayside.ts";
import { until } from "../support/until.ts";

let quayside: TestQuayside;

beforeAll(async () => {
  quayside = await startTestQuayside({}, "api");
});

afterAll(() => quayside?.stop());

const get = (path: string, headers: Record<string, string> = {}) => quayside.call("GET", path, { headers });

describe("while all is well", () => {
  test.each([
    ["/health", { status: "ok", version: "0.0.0-test", db: "up" }],
    ["/v1/crm/health", { ok: true, db: "up" }],
    ["/livez", { status: "ok" }],
    ["/readyz", { status: "ready", db: "up", broker: "up" }],
  ])("%s answers 200 to anybody and is not cached", async (path, body) => {
    const reply = await get(path);
    expect([reply.status, reply.body]).toEqual([200, body]);
    expect(reply.headers.get("cache-control")).toBe("no-store");
  });

  test.each(["/health", "/v1/crm/health"])("%s does not look at credentials, not even wrong ones", async (path) => {
    expect((await get(path, { authorization: "Bearer nonsense" })).status).toBe(200);
  });

  test.each(["/health", "/v1/crm/health", "/livez", "/readyz"])("HEAD %s answers 200 without a body", async (path) => {
    const reply = await quayside.call("HEAD", path);
    expect([reply.status, reply.text]).toEqual([200, ""]);
  });
});

describe("the metrics", () => {
  test("are for loopback", async () => {
    const reply = await get("/metrics");
    expect(reply.status).toBe(200);
    expect(reply.headers.get("content-type")).toMatch(/^text\/plain; version=0\.0\.4/);
    expect(reply.text).toMatch(/^# TYPE quayside_ready gauge$/m);
  });

  test.each([
    ["X-Forwarded-For", { "x-forwarded-for": "203.0.113.7" }],
    ["Forwarded", { forwarded: "for=203.0.113.7" }],
    ["a wrong secret", { "x-internal-secret": "a wrong secret of some length" }],
  ])("are refused with 403 to a request with %s", async (_, headers) => {
    const reply = await get("/metrics", headers);
    expect([reply.status, reply.body]).toEqual([
      403,
      { error: "Metrics are for loopback, or with the header X-Internal-Secret.", code: "forbidden" },
    ]);
  });

  test("are shown from anywhere with the internal secret", async () => {
    const headers = { "x-forwarded-for": "203.0.113.7", "x-internal-secret": SECRETS.INTERNAL_API_SECRET };
    expect((await get("/metrics", headers)).status).toBe(200);
  });

  test("count requests by route, not by path, so that ids make no series", async () => {
    const id = "11111111-2222-4333-8444-555555555555";
    await quayside.call("GET", `/api/deployments/${id}`, { token: quayside.adminToken });
    const text = await until("the request is counted", async () => {
      const reply = await get("/metrics");
      return reply.text.includes("/api/deployments/{id}") && reply.text;
    });
    expect(text).toMatch(/route="\/api\/deployments\/\{id\}",method="GET",status="404"/);
    expect(text).not.toContain(id);
  });

  test("count paths and methods that nobody knows without a series for each", async () => {
    await quayside.call("GET", "/made-up-path");
    await quayside.call("PATCH", "/api/projects");
    const text = await until("the request is counted", async () => {
      const reply = await get("/metrics");
      return reply.text.includes('status="405"') && reply.text;
    });
    expect(text).not.toContain("made-up-path");
  });
});

describe("while the database is away", () => {
  let database: Awaited<ReturnType<typeof createTestDatabase>>;
  let cable: Cable;
  let cut: TestQuayside;

  beforeAll(async () => {
    database = await createTestDatabase();
    cable = await layCable(new URL(database.url));
    const url = new URL(database.url);
    url.hostname = "127.0.0.1";
    url.port = String(cable.port);
    cut = await startTestQuayside({ DATABASE_URL: url.href }, "api");
  });

  afterAll(async () => {
    await cable?.mend();
    await cut?.stop();
    cable?.close();
    await database?.drop();
  });

  test("the health routes and readiness answer 503, liveness 200, the others 503, and all come back by themselves", async () => {
    const ask = (path: string) => cut.call("GET", path, { token: cut.adminToken });
    cable.cut();
    const down = await until("the CRM notices", async () => {
      const reply = await ask("/v1/crm/health");
      return reply.status === 503 && reply;
    });
    expect(down.body).toEqual({ ok: false, db: "down", error: "The database cannot be reached." });
    const registry = await ask("/health");
    expect([registry.status, registry.body]).toEqual([
      503,
      { status: "unavailable", version: "0.0.0-test", db: "down" },
    ]);
    const ready = await ask("/readyz");
    expect([ready.status, ready.body]).toEqual([503, { status: "not ready", db: "down", broker: "down" }]);
    const alive = await ask("/livez");
    expect([alive.status, alive.body]).toEqual([200, { status: "ok" }]);
    const refused = await ask("/api/projects");
    expectEnvelope(refused, 503, "database_unavailable", "The database cannot be reached.");
    expect(refused.headers.get("retry-after")).toBe("2");

    await cable.mend();
    await until("everything is ready again", async () => (await ask("/readyz")).status === 200);
    expect((await ask("/api/projects")).status).toBe(200);
    expect((await ask("/v1/crm/health")).body).toEqual({ ok: true, db: "up" });
  });
});

interface Cable {
  port: number;
  cut(): void;
  mend(): Promise<void>;
  close(): void;
}

/** A TCP relay in front of PostgreSQL, so that an outage can be had without stopping the server that all tests share. */
async function layCable(target: URL): Promise<Cable> {
  const ends = new Set<Socket>();
  const server: Server = createServer((near) => {
    const far = connect(Number(target.port || 5432), target.hostname);
    for (const [one, other] of [
      [near, far],
      [far, near],
    ] as const) {
      ends.add(one);
      one.on("error", () => other.destroy());
      one.on("close", () => {
        ends.delete(one);
        other.destroy();
      });
      one.pipe(other);
    }
  });
  const listen = (port: number) =>
    new Promise<number>((resolve) => {
      server.listen(port, "127.0.0.1", () => {
        const address = server.address();
        resolve(typeof address === "object" && address ? address.port : 0);
      });
    });
  const port = await listen(0);
  const cut = () => {
    server.close();
    for (const end of ends) end.destroy();
  };
  return {
    port,
    cut,
    async mend() {
      if (!server.listening) await listen(port);
    },
    close: cut,
  };
}
