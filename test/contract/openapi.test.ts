import { readFileSync } from "node:fs";
import { buildRouteTable } from "@quayside/rest-facade";
import { createConfig, lintFromString } from "@redocly/openapi-core";
import spectral, { type RulesetDefinition } from "@stoplight/spectral-core";
import rulesets from "@stoplight/spectral-rulesets";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { buildOpenApiDocument } from "../../packages/rest-facade/src/docs/openapi-document.ts";
import { startTestQuayside, type TestQuayside } from "../support/quayside.ts";

interface Operation {
  operationId: string;
  summary: string;
  description: string;
  tags: string[];
  security: Record<string, string[]>[];
  responses: Record<string, { description: string; content?: Record<string, { schema: { $ref?: string } }> }>;
  parameters?: { name: string; in: string; required: boolean }[];
  requestBody?: object;
}

interface Document {
  tags: { name: string }[];
  paths: Record<string, Record<string, Operation>>;
  components: { securitySchemes: object };
}

const NO_SUCH_ID = "00000000-0000-4000-8000-000000000000";
const MEDIA_TYPES = {
  problem: "application/problem+json",
  plain: "application/json",
  coded: "application/json",
  envelope: "application/json",
};
const SCHEMAS = { problem: "Problem", plain: "PlainError", coded: "CodedError", envelope: "EnvelopeError" };

function spectralLinter() {
  const linter = new spectral.Spectral();
  // The two packages do not agree on the type of what one makes for the other.
  linter.setRuleset(rulesets.oas as unknown as RulesetDefinition);
  return linter;
}

const table = buildRouteTable();
const documentAt = (baseUrl: string, version: string): Document =>
  JSON.parse(JSON.stringify(buildOpenApiDocument(table, { baseUrl, version })));
const document = documentAt("https://quayside.example.org", "1.2.3");
const shapeOf = (path: string) => path.replace(/\{[^}]+\}/g, "{}");
const operations = Object.entries(document.paths).flatMap(([path, item]) =>
  Object.entries(item).map(([method, operation]) => ({ path, method, operation })),
);
const routes = table.routes.map((route) => ({ name: `${route.method} ${route.path}`, route }));

describe("the document", () => {
  test("is the one of the snapshot; 'npm run generate' renews it after a wanted change", () => {
    const snapshot = readFileSync(new URL("openapi.snapshot.json", import.meta.url), "utf8");
    const { version } = JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8"));
    expect(documentAt("http://localhost:4000", version)).toEqual(JSON.parse(snapshot));
  });

  test("has each route once, and nothing else", () => {
    const documented = operations.map(({ path, method }) => `${method.toUpperCase()} ${shapeOf(path)}`);
    expect(documented.sort()).toEqual(table.routes.map(({ method, path }) => `${method} ${shapeOf(path)}`).sort());
    expect(new Set(documented).size).toBe(documented.length);
  });

  test("lints clean with Redocly's recommended rules", async () => {
    const config = await createConfig({ extends: ["recommended"] });
    const problems = await lintFromString({ source: JSON.stringify(document), config });
    // The two probes take nothing from their caller, so the caller can do nothing wrong.
    const probes = ["/v1/crm/health", "/health"].map((path) => `#/paths/${path.replaceAll("/", "~1")}/get/responses`);
    const told = problems.map(({ ruleId, message, location }) => ({ ruleId, message, at: location[0]?.pointer }));
    expect(told.filter(({ ruleId, at }) => ruleId !== "operation-4xx-response" || !probes.includes(at ?? ""))).toEqual(
      [],
    );
  });

  test("lints clean with Spectral's OpenAPI rules", async () => {
    const problems = await spectralLinter().run(JSON.stringify(document));
    expect(problems.map(({ code, message, path }) => `${code}: ${message} ${path.join("/")}`)).toEqual([]);
  });

  test("is noticed by both linters when it is wrong", async () => {
    const broken = JSON.stringify({ ...document, paths: { "/a/{id}": { get: { responses: {} } } } });
    const config = await createConfig({ extends: ["recommended"] });
    const redocly = await lintFromString({ source: broken, config });
    expect(redocly.map(({ ruleId }) => ruleId)).toContain("path-parameters-defined");
    expect((await spectralLinter().run(broken)).map(({ code }) => code)).toContain("path-params");
  });
});

describe("the operation", () => {
  test.each(routes)("$name says what the route does, to whom, and how it ends", ({ route }) => {
    const found = operations.find(
      ({ path, method }) => shapeOf(path) === shapeOf(route.path) && method === route.method.toLowerCase(),
    );
    const operation = found?.operation;
    if (!operation) throw new Error("The route is not in the document.");
    expect(operation.operationId).toBe(route.procedurePath.replaceAll(".", "_"));
    expect(operation.summary).toMatch(/^[A-Z].{5,100}[^.]$/);
    expect(operation.description).toMatch(/\.$/);
    expect(operation.tags).toHaveLength(1);
    expect(document.tags.map(({ name }) => name)).toContain(operation.tags[0]);

    const schemes = operation.security.flatMap((way) => Object.keys(way));
    expect(schemes.length === 0).toBe(route.rest.auth === "none");
    for (const scheme of schemes) expect(Object.keys(document.components.securitySchemes)).toContain(scheme);

    const statuses = Object.keys(operation.responses);
    expect(statuses.filter((status) => status.startsWith("2"))).toEqual([
      String(route.rest.status),
      ...Object.keys(route.rest.otherStatus ?? {}),
    ]);
    if (route.rest.auth !== "none") expect(statuses).toContain("401");
    if (route.rest.scope) expect(statuses).toContain("429");
    if (operation.requestBody) expect(statuses).toEqual(expect.arrayContaining(["400", "413", "415"]));
    if (route.rest.idempotent) expect(statuses).toContain("409");
    for (const [status, { content }] of Object.entries(operation.responses)) {
      if (status.startsWith("2")) continue;
      expect(Object.keys(content ?? {})).toEqual([MEDIA_TYPES[route.rest.errors]]);
      const schema = content?.[MEDIA_TYPES[route.rest.errors]]?.schema;
      expect(schema?.$ref).toBe(`#/components/schemas/${SCHEMAS[route.rest.errors]}`);
    }

    const inPath = [...(found?.path ?? "").matchAll(/\{([^}]+)\}/g)].map(([, name]) => name);
    const declared = (operation.parameters ?? []).filter((parameter) => parameter.in === "path");
    expect(declared.map(({ name, required }) => ({ name, required }))).toEqual(
      inPath.map((name) => ({ name, required: true })),
    );
  });
});

describe("the route table", () => {
  const example = (path: string) => path.replace(/\{[^}]+\}/g, NO_SUCH_ID);

  test.each(routes)("leads $name to its own procedure", ({ route }) => {
    expect(table.find(route.method, example(route.path))?.route).toBe(route);
    expect(table.methodsOf(example(route.path))).toContain(route.method);
  });

  test("prefers a fixed segment to a parameter", () => {
    const procedureOf = (method: string, path: string) => table.find(method, path)?.route.procedurePath;
    expect(procedureOf("POST", "/v1/crm/api-keys/verify")).toBe("identity.apiKeys.verify");
    expect(procedureOf("DELETE", "/v1/crm/api-keys/verify")).toBe("identity.apiKeys.revoke");
    for (const { path } of table.routes) {
      if (!path.includes("{")) expect(table.find("POST", path)?.params ?? {}, path).toEqual({});
    }
  });

  test("is strict about letters, slashes and what follows", () => {
    for (const path of ["/API/projects", "/api/projects/", "/api//projects", "/api/projects/a/b", "/v1/crm"]) {
      expect(table.find("GET", path), path).toBeNull();
    }
  });
});

describe("the server", () => {
  let quayside: TestQuayside;

  beforeAll(async () => {
    quayside = await startTestQuayside({}, "api");
  });

  afterAll(() => quayside?.stop());

  test.each(routes)("answers $name itself: a stranger gets what the document says", async ({ route }) => {
    const path = route.path.replace(/\{[^}]+\}/g, NO_SUCH_ID);
    const body = route.method === "GET" || route.method === "DELETE" ? {} : { body: {} };
    const reply = await quayside.call(route.method, path, body);
    // The doors of services stay closed while their secrets are not set.
    if (route.rest.raw || ["gateway", "entitlements"].includes(route.rest.auth)) expect(reply.status).toBe(503);
    else if (route.rest.auth === "none") expect([200, 422]).toContain(reply.status);
    else
      expect([
        reply.status,
        reply.text.includes("sign_in_required") || reply.text.includes("Sign in required"),
      ]).toEqual([401, true]);
  });

  test("serves this document, with its own address and version", async () => {
    const reply = await quayside.call("GET", "/openapi.json");
    expect(reply.status).toBe(200);
    expect(reply.body.info.version).toBe("0.0.0-test");
    expect(reply.body).toEqual(documentAt(reply.body.servers[0].url, "0.0.0-test"));
  });
});
