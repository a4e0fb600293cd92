import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startTestQuayside, type TestQuayside } from "../support/quayside.ts";

const ORIGIN = "https://app.example.com";
const corsHeaders = (headers: Headers) =>
  [...headers.keys()].filter((name) => name.startsWith("access-control-")).sort();

describe("without CORS_ALLOWED_ORIGINS", () => {
  let quayside: TestQuayside;

  beforeAll(async () => {
    quayside = await startTestQuayside({}, "api");
  });

  afterAll(() => quayside?.stop());

  test("no page of another origin is let in", async () => {
    const reply = await quayside.call("GET", "/api/projects", {
      token: quayside.adminToken,
      headers: { origin: ORIGIN },
    });
    expect([reply.status, corsHeaders(reply.headers)]).toEqual([200, []]);
  });

  test("a preflight gets Allow and no leave", async () => {
    const reply = await quayside.call("OPTIONS", "/api/projects", {
      headers: { origin: ORIGIN, "access-control-request-method": "POST" },
    });
    expect([reply.status, reply.headers.get("allow")]).toEqual([204, "GET, POST, HEAD, OPTIONS"]);
    expect(corsHeaders(reply.headers)).toEqual([]);
  });
});

describe("with CORS_ALLOWED_ORIGINS", () => {
  let quayside: TestQuayside;

  beforeAll(async () => {
    quayside = await startTestQuayside({ CORS_ALLOWED_ORIGINS: `${ORIGIN}, http://localhost:5173/` }, "api");
  });

  afterAll(() => quayside?.stop());

  test.each([ORIGIN, "http://localhost:5173"])(
    "a page of %s may call with a bearer, never with a cookie",
    async (origin) => {
      const reply = await quayside.call("GET", "/api/projects", { token: quayside.adminToken, headers: { origin } });
      expect(reply.status).toBe(200);
      expect(reply.headers.get("access-control-allow-origin")).toBe(origin);
      expect(reply.headers.get("access-control-allow-credentials")).toBeNull();
      expect(reply.headers.get("access-control-expose-headers")).toContain("X-Request-Id");
      expect(reply.headers.get("vary")).toContain("Origin");
    },
  );

  test("it can read errors too", async () => {
    for (const path of ["/api/projects", "/nothing", "/trpc/hosting.projects.list"]) {
      const reply = await quayside.call("GET", path, { headers: { origin: ORIGIN } });
      expect(reply.status).toBeGreaterThanOrEqual(400);
      expect(reply.headers.get("access-control-allow-origin")).toBe(ORIGIN);
    }
  });

  test("its preflight is answered with methods and headers", async () => {
    const reply = await quayside.call("OPTIONS", "/v1/crm/api-keys", {
      headers: {
        origin: ORIGIN,
        "access-control-request-method": "POST",
        "access-control-request-headers": "authorization, idempotency-key",
      },
    });
    expect([reply.status, reply.text]).toEqual([204, ""]);
    expect(Object.fromEntries(reply.headers)).toMatchObject({
      "access-control-allow-origin": ORIGIN,
      "access-control-allow-methods": "GET, HEAD, POST, PUT, PATCH, DELETE",
      "access-control-allow-headers":
        "Authorization, Content-Type, Idempotency-Key, Last-Event-ID, X-API-Key, X-Request-Id",
      "access-control-max-age": "600",
    });
  });

  test.each(["https://evil.example", "https://app.example.com.evil.example", "http://app.example.com", "null"])(
    "a page of %s is not let in, and caches are told that the origin matters",
    async (origin) => {
      for (const method of ["GET", "OPTIONS"]) {
        const headers = { origin, ...(method === "OPTIONS" ? { "access-control-request-method": "GET" } : {}) };
        const reply = await quayside.call(method, "/api/projects", { headers });
        expect(corsHeaders(reply.headers)).toEqual([]);
        expect(reply.headers.get("vary")).toContain("Origin");
      }
    },
  );

  test("an OPTIONS that is no preflight still gets Allow", async () => {
    const reply = await quayside.call("OPTIONS", "/api/projects", { headers: { origin: ORIGIN } });
    expect([reply.status, reply.headers.get("allow")]).toEqual([204, "GET, POST, HEAD, OPTIONS"]);
  });
});
