import { ERROR_KINDS } from "@quayside/contracts";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { expectProblem } from "../support/expect-errors.ts";
import { startTestQuayside, type TestQuayside } from "../support/quayside.ts";

let quayside: TestQuayside;

beforeAll(async () => {
  quayside = await startTestQuayside({}, "api");
});

afterAll(() => quayside?.stop());

const get = (path: string) => quayside.call("GET", path);

describe("the docs", () => {
  test("are where the root leads", async () => {
    const reply = await get("/");
    expect([reply.status, reply.headers.get("location")]).toEqual([302, "/docs"]);
  });

  test("are a page whose every script and style comes from this server", async () => {
    const reply = await get("/docs");
    expect([reply.status, reply.headers.get("content-type")]).toEqual([200, "text/html; charset=utf-8"]);
    const sources = [...reply.text.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, source = ""]) => source);
    expect(sources.sort()).toEqual([
      "/docs/assets/swagger-ui-bundle.js",
      "/docs/assets/swagger-ui.css",
      "/docs/init.js",
    ]);
    // Inline scripts would be blocked by the policy below.
    expect(reply.text).not.toMatch(/<script>/);
    for (const source of sources) {
      const asset = await get(source);
      expect(asset.status, source).toBe(200);
      expect(asset.headers.get("content-type")).toMatch(source.endsWith(".css") ? /^text\/css/ : /javascript/);
      expect(asset.text.length).toBeGreaterThan(50);
    }
    expect((await get("/docs/init.js")).text).toContain('url: "/openapi.json"');
  });

  test.each(["/docs", "/docs/assets/swagger-ui-bundle.js", "/docs/problems", "/openapi.json"])(
    "%s comes with a policy that lets nothing in from elsewhere",
    async (path) => {
      const { headers } = await get(path);
      const policy = headers.get("content-security-policy") ?? "";
      expect(policy.split(";").sort()).toEqual(
        [
          "base-uri 'none'",
          "default-src 'self'",
          "frame-ancestors 'none'",
          "img-src 'self' data:",
          "object-src 'none'",
          "style-src 'self' 'unsafe-inline'",
        ].sort(),
      );
      expect(headers.get("x-content-type-options")).toBe("nosniff");
      expect(headers.has("strict-transport-security")).toBe(false);
    },
  );

  test("list every problem, and every problem has its page", async () => {
    const index = await get("/docs/problems");
    expect(index.status).toBe(200);
    const linked = [...index.text.matchAll(/href="\/docs\/problems\/([a-z_]+)"/g)].map(([, code]) => code);
    expect(linked.sort()).toEqual(Object.keys(ERROR_KINDS).sort());
    for (const [code, { title, status }] of Object.entries(ERROR_KINDS)) {
      const page = await get(`/docs/problems/${code}`);
      expect([page.status, page.headers.get("content-type")]).toEqual([200, "text/html; charset=utf-8"]);
      expect(page.text).toContain(`<h1>${title}</h1><p>Code <code>${code}</code>, HTTP status ${status}.</p><p>`);
      expect(page.text).not.toContain("undefined");
    }
  });

  test.each(["/docs/problems/nothing", "/docs/problems/toString", "/docs/problems/__proto__", "/docs/nothing"])(
    "answer 404 to %s",
    async (path) => {
      expectProblem(await get(path), 404, "not_found");
    },
  );

  test("give out no other file than the assets", async () => {
    for (const path of ["/docs/assets/", "/docs/assets/nothing.js", "/docs/assets/.npmrc"]) {
      expectProblem(await get(path), 404, "not_found");
    }
  });
});

test("the document is JSON that names every path", async () => {
  const reply = await get("/openapi.json");
  expect([reply.status, reply.headers.get("content-type")]).toEqual([200, "application/json; charset=utf-8"]);
  expect(reply.body.openapi).toBe("3.1.0");
  expect(Object.keys(reply.body.paths)).toEqual(expect.arrayContaining(["/v1/crm/api-keys", "/-/v1/login"]));
});
