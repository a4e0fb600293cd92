import { appRouter } from "@quayside/api";
import type { ErrorStyle, ProcedureMeta } from "@quayside/contracts";
import { generateOpenApiDocument, type OpenApiRouter } from "trpc-openapi";
import { z } from "zod";
import type { Route, RouteTable } from "../dispatch/route-table.ts";
import { ERROR_SCHEMAS, SECURITY_SCHEMES, securityOf, TAGS } from "./openapi-parts.ts";

type Json = Record<string, unknown>;
type Operation = Json & { responses: Record<string, Json>; parameters?: Json[] };

/** The OpenAPI 3.1 document of every documented REST path. */
export function buildOpenApiDocument(table: RouteTable, about: { baseUrl: string; version: string }): Json {
  const generated = generateOpenApiDocument(appRouter as unknown as OpenApiRouter, {
    title: "Quayside",
    version: about.version,
    baseUrl: about.baseUrl,
    openApiVersion: "3.1.0",
    filter: ({ metadata }: { metadata: unknown }) => isWithinReach(metadata as ProcedureMeta),
  }) as unknown as { paths: Record<string, Record<string, Operation>> };
  const paths: Record<string, Record<string, Operation>> = {};
  for (const route of table.routes) {
    const path = documentedPath(route, table);
    const item = paths[path] ?? {};
    paths[path] = item;
    const method = route.method.toLowerCase();
    const operation = generated.paths[route.path]?.[method] ?? ownOperation(route);
    item[method] = withPathNames(finish(operation, route), route.path, path);
  }
  const securitySchemes = Object.entries(SECURITY_SCHEMES).filter(([name]) =>
    table.routes.some((route) => securityOf(route.rest).some((way) => name in way)),
  );
  return {
    openapi: "3.1.0",
    info: {
      title: "Quayside",
      version: about.version,
      description: "The self-hosted platform behind a product. One identity, one address, exact REST paths.",
      license: { name: "MIT", identifier: "MIT" },
      contact: { name: "Quayside", url: `${about.baseUrl}/docs` },
    },
    servers: [{ url: about.baseUrl }],
    tags: TAGS.filter((tag) => table.routes.some((route) => route.openapi.tags.includes(tag.name))),
    paths,
    components: { schemas: ERROR_SCHEMAS, securitySchemes: Object.fromEntries(securitySchemes) },
  };
}

/** OpenAPI knows one path where routes differ by the names of its parameters only: that of the first route. */
function documentedPath(route: Route, table: RouteTable): string {
  const shape = (path: string) => path.replace(/\{[^}]+\}/g, "{}");
  return table.routes.find((candidate) => shape(candidate.path) === shape(route.path))?.path ?? route.path;
}

function withPathNames(operation: Operation, from: string, to: string): Operation {
  if (from === to || !operation.parameters) return operation;
  const namesOf = (path: string) => [...path.matchAll(/\{([^}]+)\}/g)].map(([, name]) => name);
  const [before, after] = [namesOf(from), namesOf(to)];
  const parameters = operation.parameters.map((parameter) => {
    const at = parameter.in === "path" ? before.indexOf(parameter.name as string) : -1;
    return at < 0 ? parameter : { ...parameter, name: after[at] };
  });
  return { ...operation, parameters };
}

/** Mends what the generator fixes for all routes: status, errors, security, nested query parameters. */
function finish(operation: Operation, route: Route): Operation {
  const { 200: success } = operation.responses;
  const status = String(route.rest.status);
  const responses: Record<string, Json> =
    status === "204" ? { 204: { description: "Done; there is no body." } } : { [status]: success ?? {} };
  for (const [code, description] of Object.entries(route.rest.otherStatus ?? {})) {
    responses[code] = { ...success, description };
  }
  const errors: Record<string, string> = { ...commonErrors(route), ...route.openapi.errorResponses };
  for (const [code, description] of Object.entries(errors)) {
    responses[code] = errorResponse(description, route.rest.errors, Number(code));
  }
  const { security: _, ...rest } = operation;
  return {
    ...rest,
    operationId: route.procedurePath.replaceAll(".", "_"),
    description: route.openapi.description ?? `${route.openapi.summary}.`,
    ...(operation.parameters ? { parameters: operation.parameters.map(parameterOf) } : {}),
    ...headerParameters(route, operation),
    responses,
    security: securityOf(route.rest),
  };
}

/** Errors that come from what a route is, not from what it does. */
function commonErrors({ method, hasInput, rest }: Route): Record<string, string> {
  const takesBody = hasInput && method !== "GET" && method !== "DELETE";
  return {
    ...(takesBody ? { 400: "Malformed body", 413: "Body too large", 415: "Not JSON" } : {}),
    ...(hasInput && !takesBody ? { 400: "Malformed query" } : {}),
    ...(rest.auth === "caller" ? { 402: "A live key without an active paid plan" } : {}),
    503: "The database cannot be reached",
    ...(rest.idempotent ? { 409: "Idempotency-Key reused with another body, or still in progress" } : {}),
    ...(rest.scope ? { 429: "Too many requests of this API key" } : {}),
  };
}

/** Headers that the route reads, behind the parameters of path and query. */
function headerParameters({ rest }: Route, operation: Operation): { parameters?: Json[] } {
  const headers: Json[] = [];
  if (rest.raw) {
    const name = rest.raw.signatureHeader.replace(/(^|-)[a-z]/g, (start) => start.toUpperCase());
    headers.push({ name, in: "header", required: true, schema: { type: "string" } });
  }
  if (rest.idempotent || rest.ownIdempotency) headers.push(IDEMPOTENCY_KEY);
  if (headers.length === 0) return {};
  return { parameters: [...(operation.parameters ?? []).map(parameterOf), ...headers] };
}

const IDEMPOTENCY_KEY: Json = {
  name: "Idempotency-Key",
  in: "header",
  required: false,
  description: "The first response is replayed for the same key and body, for 24 hours at least.",
  schema: { type: "string", maxLength: 255 },
};

function parameterOf(parameter: Json): Json {
  const schema = parameter.schema as Json | undefined;
  return schema?.type === "object" ? { ...parameter, style: "deepObject", explode: true } : parameter;
}

function errorResponse(description: string, style: ErrorStyle, status: number): Json {
  const [name, type] = {
    problem: ["Problem", "application/problem+json"],
    plain: ["PlainError", "application/json"],
    coded: ["CodedError", "application/json"],
    envelope: ["EnvelopeError", "application/json"],
  }[style] as [string, string];
  const retry =
    status === 429 || status === 503
      ? { headers: { "Retry-After": { description: "Seconds to wait.", schema: { type: "integer" } } } }
      : {};
  return { description, ...retry, content: { [type]: { schema: { $ref: `#/components/schemas/${name}` } } } };
}

/** Streams, nested query parameters and bodies that are not JSON are outside the generator's reach. */
function isWithinReach({ rest }: ProcedureMeta): boolean {
  return rest?.kind === "json" && !rest.nestedQuery && !rest.raw;
}

function ownOperation(route: Route): Operation {
  return route.rest.kind === "json" ? jsonOperation(route) : streamOperation(route);
}

function jsonOperation(route: Route): Operation {
  const { output } = route.procedure._def as unknown as { output: z.ZodType };
  const { $schema: _, ...schema } = z.toJSONSchema(output, { io: "output" }) as Json;
  return {
    summary: route.openapi.summary,
    tags: route.openapi.tags,
    ...(route.rest.raw ? { requestBody: rawBody(route.rest.raw) } : { parameters: parametersOf(route) }),
    responses: { 200: { description: "Successful response", content: { "application/json": { schema } } } },
  };
}

function rawBody({ signatureHeader }: { signatureHeader: string }): Json {
  return {
    required: true,
    description: `The event as it was signed; the signature is in the header ${signatureHeader}.`,
    content: { "application/json": { schema: { type: "object" } } },
  };
}

function parametersOf(route: Route): Json[] {
  const [input] = (route.procedure._def as unknown as { inputs: z.ZodObject[] }).inputs;
  const schema = z.toJSONSchema(input ?? z.object({}), { io: "input" }) as {
    properties?: Record<string, Json>;
    required?: string[];
  };
  return Object.entries(schema.properties ?? {})
    .filter(([name]) => name !== "lastEventId")
    .map(([name, { description, ...property }]) => {
      const inPath = route.path.includes(`{${name}}`);
      const required = inPath || (schema.required?.includes(name) ?? false);
      return {
        name,
        in: inPath ? "path" : "query",
        required,
        ...(description ? { description } : {}),
        schema: property,
      };
    });
}

function streamOperation(route: Route): Operation {
  const parameters = parametersOf(route);
  const lastEventId = { name: "Last-Event-ID", in: "header", required: false, schema: { type: "string" } };
  const events = { "text/event-stream": { schema: { type: "string" } } };
  const content = route.rest.kind === "log" ? { "text/plain": { schema: { type: "string" } }, ...events } : events;
  return {
    summary: route.openapi.summary,
    tags: route.openapi.tags,
    parameters: [...parameters, lastEventId],
    responses: { 200: { description: route.rest.kind === "log" ? "Log lines" : "Server-sent events", content } },
  };
}
