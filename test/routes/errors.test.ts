import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { expectCoded, expectEnvelope, expectPlain, expectProblem } from "../support/expect-errors.ts";
import { startTestQuayside, type TestQuayside } from "../support/quayside.ts";
import { sendRaw } from "../support/send-raw.ts";

const MIB = 1_048_576;
const TOO_LARGE = "The body may have at most 1048576 bytes here.";

let quayside: TestQuayside;
let authorization: { authorization: string };

beforeAll(async () => {
  quayside = await startTestQuayside({}, "api");
  authorization = { authorization: `Bearer ${quayside.adminToken}` };
});

afterAll(() => quayside?.stop());

const post = (path: string, rawBody: string, headers: Record<string, string> = {}) =>
  quayside.call("POST", path, { token: quayside.adminToken, rawBody, headers });
const get = (path: string, headers: Record<string, string> = {}) =>
  quayside.call("GET", path, { token: quayside.adminToken, headers });

describe("a body that is no JSON object", () => {
  test.each([
    ["ends too early", '{"name":', "it ends too early."],
    ["has a wrong character", '{"name": oops}', "the character 'o' is out of place."],
    ["has a fault in the middle", '{\n  "name": "x",\n}', "there is a fault at line 3, column 1."],
    ["is a word", "hello", "the character 'h' is out of place."],
    ["has a comma too many", '{"name":"x",}', /The body is not valid JSON/],
    ["is an array", '[{"name":"x"}]', "The body must be a JSON object."],
    ["is null", "null", "The body must be a JSON object."],
    ["is a number", "7", "The body must be a JSON object."],
    ["is a string", '"name"', "The body must be a JSON object."],
    ["is a very deep array", `${"[".repeat(200_000)}${"]".repeat(200_000)}`, "The body must be a JSON object."],
  ])("is 400 when it %s", async (_, body, message) => {
    const told = message instanceof RegExp ? message : new RegExp(`${message.replaceAll(".", "\\.")}$`);
    const problem = await post("/v1/crm/api-keys", body);
    expectProblem(problem, 400, "malformed_body", told);
    // The message says where the fault is, without a copy of what was sent.
    expect(problem.body.detail.length).toBeLessThan(120);
    expectEnvelope(await post("/api/projects", body), 400, "malformed_body", told);
    expectPlain(await post("/api/deployments", body), 400, told);
    expectCoded(await post("/api/v1/admin/users", body), 400, "malformed_body", told);
  });

  test("is 422 when it is left out, since every field is then missing", async () => {
    expectProblem(
      await quayside.call("POST", "/v1/crm/api-keys", { token: quayside.adminToken }),
      422,
      "validation_failed",
    );
  });
});

describe("a body of another kind", () => {
  test.each([
    "text/plain",
    "application/x-www-form-urlencoded",
    "multipart/form-data; boundary=x",
    "application/jsonx",
  ])("is 415 when its Content-Type is %s", async (type) => {
    const reply = await post("/api/projects", '{"name":"x"}', { "content-type": type });
    expectEnvelope(reply, 415, "unsupported_media_type", /^Send JSON with 'Content-Type: application\/json'/);
  });

  test("is 415 when it has no Content-Type", async () => {
    const reply = await sendRaw(quayside.baseUrl, {
      method: "POST",
      path: "/api/projects",
      headers: authorization,
      chunks: ['{"name":"x"}'],
    });
    expect([reply.status, JSON.parse(reply.text).error.message]).toEqual([
      415,
      "Send JSON with 'Content-Type: application/json'; this came with no Content-Type.",
    ]);
  });

  test.each(["application/json; charset=utf-8", "Application/JSON", "application/vnd.api+json"])(
    "is taken when its Content-Type is %s",
    async (type) => {
      expect((await post("/api/projects", '{"name":"typed"}', { "content-type": type })).status).toBe(201);
    },
  );

  test.each(["gzip", "br", "deflate"])("is 415 when its Content-Encoding is %s", async (encoding) => {
    const reply = await sendRaw(quayside.baseUrl, {
      method: "POST",
      path: "/api/projects",
      headers: { ...authorization, "content-type": "application/json", "content-encoding": encoding },
      chunks: [gzipSync('{"name":"x"}')],
    });
    expect([reply.status, JSON.parse(reply.text)]).toEqual([
      415,
      {
        error: {
          code: "unsupported_media_type",
          message: `Content-Encoding '${encoding}' is not supported here; send the body uncompressed.`,
        },
      },
    ]);
  });
});

describe("a body that is too large", () => {
  const nameOf = (bytes: number) => JSON.stringify({ name: "n".repeat(bytes - '{"name":""}'.length) });

  test("is 413 from one byte above 1 MiB on", async () => {
    expectEnvelope(await post("/api/projects", nameOf(MIB)), 422, "validation_failed");
    const reply = await post("/api/projects", nameOf(MIB + 1));
    expectEnvelope(reply, 413, "payload_too_large", TOO_LARGE);
    expect(reply.headers.get("connection")).toBe("close");
  });

  test("is 413 by its declared length, before any of it was sent", async () => {
    const reply = await sendRaw(quayside.baseUrl, {
      method: "POST",
      path: "/v1/crm/api-keys/verify",
      headers: { "content-type": "application/json", "content-length": String(50 * MIB), expect: "100-continue" },
    });
    expect([reply.status, JSON.parse(reply.text).detail]).toEqual([413, TOO_LARGE]);
  });

  test("is 413 without a declared length too", async () => {
    const reply = await sendRaw(quayside.baseUrl, {
      method: "POST",
      path: "/v1/crm/api-keys/verify",
      headers: { "content-type": "application/json", "transfer-encoding": "chunked" },
      chunks: Array.from({ length: 5 }, () => Buffer.alloc(MIB / 4, 0x20)),
    });
    expect([reply.status, JSON.parse(reply.text).code]).toEqual([413, "payload_too_large"]);
  });
});

describe("fields with traps", () => {
  test.each(["__proto__", "constructor", "toString", "hasOwnProperty"])("are refused by name: %s", async (field) => {
    const body = `{"name":"x","${field}":{"polluted":true}}`;
    const reply = await post("/api/projects", body);
    expectEnvelope(reply, 422, "validation_failed");
    expect(reply.body.error.issues[0].field).toBe(field);
    expectPlain(await post("/api/deployments", `{"${field}":1}`), 400, /is not (valid|accepted)/);
    expect(Object.hasOwn(Object.prototype, "polluted")).toBe(false);
  });

  test("do not get into an open map either", async () => {
    const body = '{"name":"x","buildConfig":{"env":{"__proto__":"1","A":"2"}}}';
    const reply = await post("/api/projects", body);
    expectEnvelope(reply, 422, "validation_failed", "The key '__proto__' is not accepted.");
    expect(reply.body.error.issues[0].field).toBe("buildConfig.env.__proto__");
  });

  test("that are nested deeply are an error of their type and nothing worse", async () => {
    const deep = `{"name":${"[".repeat(50_000)}${"]".repeat(50_000)}}`;
    expectEnvelope(await post("/api/projects", deep), 422, "validation_failed", /'name' is not valid/);
  });

  test("that come twice count as the last one", async () => {
    const reply = await post("/api/projects", '{"name":"first","name":"second"}');
    expect([reply.status, reply.body.name]).toEqual([201, "second"]);
  });
});

describe("a query with traps", () => {
  test.each([
    ["is nested deeply", `a${"[b]".repeat(50)}=1`],
    ["has more than 100 parameters", Array.from({ length: 101 }, (_, i) => `p${i}=1`).join("&")],
  ])("is 400 when it %s", async (_, query) => {
    expectPlain(await get(`/api/deployments?${query}`), 400, /more than 100 parameters or is nested more than 3 deep/);
  });

  test.each(["__proto__[limit]=1", "constructor[prototype][limit]=1", "limit[]=1", "limit[a]=1", "limit=%zz", "%zz=1"])(
    "?%s is bad input, and no list is given that was not asked for",
    async (query) => expectPlain(await get(`/api/deployments?${query}`), 400),
  );

  test("is ignored where a route takes none", async () => {
    expect((await get("/api/projects?limit=1&limit=2&x[y]=z")).status).toBe(200);
  });
});

describe("a path that nobody knows", () => {
  test("is 404 in the style of its area", async () => {
    expectProblem(
      await get("/v1/crm/nothing"),
      404,
      "not_found",
      "There is no GET /v1/crm/nothing here; /docs lists what there is.",
    );
    expectProblem(await get("/nothing"), 404, "not_found");
    expectPlain(await get("/api/deployments/a/b/c"), 404);
    expectPlain(await get("/api/app-deploys/nothing"), 404);
    expectEnvelope(await get("/api/nothing"), 404, "not_found");
    expectEnvelope(await get("/api/projects/"), 404, "not_found");
    expectEnvelope(await get("/api/projects/a/b"), 404, "not_found");
    expectCoded(await get("/api/v1/nothing"), 404, "not_found");
    expectCoded(await get("/-/v1/nothing"), 404, "not_found");
    expectCoded(await get("/npm/nothing"), 404, "not_found");
  });

  test("is 404 for every method, without a credential too", async () => {
    for (const method of ["POST", "PUT", "PATCH", "DELETE"]) {
      expectProblem(await quayside.call(method, "/v1/crm/nothing"), 404, "not_found", new RegExp(`no ${method} `));
    }
    const head = await quayside.call("HEAD", "/v1/crm/nothing");
    expect([head.status, head.text]).toEqual([404, ""]);
  });

  test("is not repeated at length, however long it is", async () => {
    const long = "a".repeat(5_000);
    const reply = await get(`/v1/crm/${long}`);
    expectProblem(reply, 404, "not_found");
    expect(reply.body.detail.length).toBeLessThan(300);
    expectEnvelope(await get(`/api/projects/${long}`), 404, "not_found");
    expectPlain(await get(`/api/deployments/${"b".repeat(1_000)}`), 404);
  });

  test("that is longer than a header may be is 431", async () => {
    const reply = await sendRaw(quayside.baseUrl, { path: `/${"a".repeat(20_000)}` });
    expect(reply.status).toBe(431);
  });

  test("cannot climb out by dots", async () => {
    for (const path of [
      "/docs/../package.json",
      "/docs/assets/../../../package.json",
      "/docs/assets/%2e%2e/%2e%2e/x",
    ]) {
      const reply = await sendRaw(quayside.baseUrl, { path });
      expect([reply.status, JSON.parse(reply.text).code], path).toEqual([404, "not_found"]);
    }
  });

  test.each([
    ["/v1/crm/api-keys/%zz/usage", "problem"],
    ["/v1/crm/%", "problem"],
    ["/api/projects/%E0%A4%A", "envelope"],
    ["/api/deployments/%ff", "plain"],
    ["/api/v1/admin/organizations/%zz/trust", "coded"],
    ["/trpc/%zz", "problem"],
    ["/docs/problems/%zz", "problem"],
  ])("because of a broken percent-encoding is 400: %s", async (path, style) => {
    const { status, headers, text } = await sendRaw(quayside.baseUrl, { path, headers: authorization });
    const reply = {
      status,
      headers: new Headers(Object.entries(headers).map(([k, v]) => [k, String(v)])),
      text,
      body: JSON.parse(text),
    };
    const message = "The URL has a broken percent-encoding.";
    if (style === "problem") expectProblem(reply, 400, "invalid_request", message);
    if (style === "envelope") expectEnvelope(reply, 400, "invalid_request", message);
    if (style === "coded") expectCoded(reply, 400, "invalid_request", message);
    if (style === "plain") expectPlain(reply, 400, message);
  });
});

describe("a method that a path does not know", () => {
  test.each([
    ["PUT", "/v1/crm/api-keys", "GET, POST, HEAD, OPTIONS"],
    ["GET", "/v1/crm/api-keys/verify", "POST, DELETE, OPTIONS"],
    ["POST", "/v1/crm/health", "GET, HEAD, OPTIONS"],
  ])("%s %s is 405 with Allow, as a problem", async (method, path, allow) => {
    const reply = await quayside.call(method, path);
    expectProblem(reply, 405, "method_not_allowed", `${method} is not possible here; allowed: ${allow}.`);
    expect(reply.headers.get("allow")).toBe(allow);
  });

  test("is 405 in the style of the other areas", async () => {
    const envelope = await quayside.call("PUT", "/api/projects/x");
    expectEnvelope(envelope, 405, "method_not_allowed");
    expect(envelope.headers.get("allow")).toBe("GET, PATCH, DELETE, HEAD, OPTIONS");
    const plain = await quayside.call("DELETE", "/api/deployments/x");
    expectPlain(plain, 405, /^DELETE is not possible here/);
    expect(plain.headers.get("allow")).toBe("GET, PATCH, HEAD, OPTIONS");
    for (const [method, path, allow] of [
      ["GET", "/-/v1/login", "POST, OPTIONS"],
      ["DELETE", "/health", "GET, HEAD, OPTIONS"],
    ] as const) {
      const coded = await quayside.call(method, path);
      expectCoded(coded, 405, "method_not_allowed");
      expect(coded.headers.get("allow")).toBe(allow);
    }
  });

  test("OPTIONS answers 204 with Allow, without a credential", async () => {
    const reply = await quayside.call("OPTIONS", "/api/projects/x");
    expect([reply.status, reply.text]).toEqual([204, ""]);
    expect(reply.headers.get("allow")).toBe("GET, PATCH, DELETE, HEAD, OPTIONS");
  });

  test("HEAD answers what GET would, without a body", async () => {
    const [read, head] = await Promise.all(
      ["GET", "HEAD"].map((method) => quayside.call(method, "/api/projects", { token: quayside.adminToken })),
    );
    expect([head?.status, head?.text]).toEqual([200, ""]);
    expect(head?.headers.get("content-length")).toBe(String(Buffer.byteLength(read?.text ?? "")));
    expect((await quayside.call("HEAD", "/api/projects")).status).toBe(401);
    const noHead = await quayside.call("HEAD", "/-/v1/login");
    expect([noHead.status, noHead.headers.get("allow")]).toEqual([405, "POST, OPTIONS"]);
  });
});

describe("every answer", () => {
  test("carries the request id that was sent, and the problem repeats it", async () => {
    const reply = await quayside.call("GET", "/v1/crm/stats", { headers: { "x-request-id": "Trace-1.2_3" } });
    expectProblem(reply, 401, "sign_in_required");
    expect([reply.headers.get("x-request-id"), reply.body.request_id]).toEqual(["Trace-1.2_3", "Trace-1.2_3"]);
    const fine = await get("/api/projects", { "x-request-id": "fine" });
    expect([fine.status, fine.headers.get("x-request-id")]).toEqual([200, "fine"]);
  });

  test.each(["has a space", "x".repeat(129), "<script>", ""])("replaces an unfit request id: '%s'", async (id) => {
    const reply = await get("/v1/crm/nothing", { "x-request-id": id });
    expectProblem(reply, 404, "not_found");
    expect(reply.body.request_id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  });

  test("forbids sniffing, framing, caching and referrers, and does not say what it runs on", async () => {
    for (const reply of [await get("/api/projects"), await get("/nothing"), await get("/v1/crm/health")]) {
      expect(Object.fromEntries(reply.headers)).toMatchObject({
        "x-content-type-options": "nosniff",
        "x-frame-options": "DENY",
        "cache-control": "no-store",
        "referrer-policy": "no-referrer",
        "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
      });
      expect(reply.headers.has("x-powered-by")).toBe(false);
      expect(reply.headers.has("server")).toBe(false);
    }
  });

  test("names a problem by an address that explains it", async () => {
    const { body } = await quayside.call("GET", "/v1/crm/stats");
    expect(body.type).toMatch(/\/docs\/problems\/sign_in_required$/);
    const page = await fetch(body.type);
    expect([page.status, page.headers.get("content-type")]).toEqual([200, "text/html; charset=utf-8"]);
    expect(await page.text()).toContain(`<h1>${body.title}</h1>`);
  });
});

test("a path of an area that this process does not serve is 404 in its own style", async () => {
  const registry = await startTestQuayside({ PLATFORM_AREAS: "registry" }, "api");
  try {
    const ask = (path: string) => registry.call("GET", path, { token: registry.adminToken });
    expectProblem(await ask("/v1/crm/stats"), 404, "not_found");
    expectEnvelope(await ask("/api/projects"), 404, "not_found");
    expectPlain(await ask("/api/deployments"), 404);
    expect((await ask("/api/v1/whoami")).status).toBe(200);
    expect((await ask("/health")).status).toBe(200);
  } finally {
    await registry.stop();
  }
});
