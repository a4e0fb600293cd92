import type { IncomingMessage, ServerResponse } from "node:http";
import { admit, type PublicError, type RequestContext, toPublicError } from "@quayside/api";
import { PlatformError } from "@quayside/contracts";
import { runIdempotently } from "@quayside/core";
import { sendEventStream, sendLogLines } from "./event-stream.ts";
import { readInput } from "./read-input.ts";
import { errorStyleOfPath } from "./render-error.ts";
import type { Match, Route, RouteTable } from "./route-table.ts";
import { type Reply, sendEmpty, sendError, sendJson } from "./send.ts";

export interface DispatcherOptions {
  table: RouteTable;
  createContext(req: IncomingMessage): RequestContext;
  /** Aborts when the process stops: streams end, and their clients reconnect. */
  stopping: AbortSignal;
  pingIntervalMs: number;
  onError(error: unknown, told: PublicError, ctx: RequestContext): void;
  /** Told of each request when it is answered. */
  onDone(req: IncomingMessage, res: ServerResponse, route: string, ctx: RequestContext): void;
}

/** Serves the documented REST paths: finds the route, reads the input, calls the procedure, writes the answer. */
export function createDispatcher(options: DispatcherOptions) {
  /** False when the path is none of the documented ones. */
  return (req: IncomingMessage, res: ServerResponse): boolean => {
    const [path, query] = splitUrl(req.url ?? "/");
    const head = req.method === "HEAD";
    const match = options.table.find(head ? "GET" : (req.method ?? "GET"), path);
    if (!match) return refuseMethod(options, req, res, path);
    const ctx = options.createContext(req);
    const reply: Reply = { res, ctx, path, head };
    res.once("close", () => options.onDone(req, res, match.route.path, ctx));
    void answer(options, req, reply, match, query).catch((error: unknown) => {
      const told = notFoundForBadPath(toPublicError(error), match);
      if (told.unexpected) options.onError(error, told, ctx);
      if (res.headersSent) res.destroy();
      else sendError(reply, told, match.route.rest.errors);
    });
    return true;
  };
}

const REPLAYED = { "Idempotency-Replayed": "true" };

function splitUrl(url: string): [string, string] {
  const at = url.indexOf("?");
  return at < 0 ? [url, ""] : [url.slice(0, at), url.slice(at + 1)];
}

/** 405 with `Allow` for a documented path, 204 for its OPTIONS; false for a path that is not ours. */
function refuseMethod(options: DispatcherOptions, req: IncomingMessage, res: ServerResponse, path: string): boolean {
  const methods = options.table.methodsOf(path);
  const [method] = methods;
  if (!method) return false;
  const allow = [...methods, ...(methods.includes("GET") ? ["HEAD"] : []), "OPTIONS"].join(", ");
  const ctx = options.createContext(req);
  const reply: Reply = { res, ctx, path, head: req.method === "HEAD" };
  const known = options.table.find(method, path)?.route;
  res.once("close", () => options.onDone(req, res, known?.path ?? "unknown", ctx));
  if (req.method === "OPTIONS") {
    sendEmpty(reply, 204, { Allow: allow });
  } else {
    const error = new PlatformError("method_not_allowed", `${req.method} is not possible here; allowed: ${allow}.`);
    const style = known?.rest.errors ?? errorStyleOfPath(path);
    sendError(reply, toPublicError(error), style, { Allow: allow });
  }
  return true;
}

async function answer(
  options: DispatcherOptions,
  req: IncomingMessage,
  reply: Reply,
  match: Match,
  query: string,
): Promise<void> {
  const { route } = match;
  await admit(reply.ctx, route.rest);
  reply.ctx.admitted = true;
  const { input, body } = await readInput(req, match, query);
  if (route.rest.kind !== "json") return stream(options, req, reply, route, input);
  const key = route.rest.idempotent ? reply.ctx.given.idempotencyKey : null;
  if (key !== null) {
    const scope = route.rest.scope ?? "admin";
    const request = { key, route: `${route.method} ${route.path}`, scope, body: whatIsAsked(match, body) };
    const outcome = await runIdempotently(reply.ctx, request, async (ctx) => {
      const output = await route.invoke(ctx, input);
      return { status: ctx.status ?? route.rest.status, body: JSON.stringify(output) };
    });
    sendJson(reply, outcome.status, outcome.body, outcome.replayed ? REPLAYED : {});
    return;
  }
  const output = await route.invoke(reply.ctx, input);
  if (route.rest.status === 204) sendEmpty(reply, 204);
  else {
    const headers = reply.ctx.replayed ? REPLAYED : {};
    sendJson(reply, reply.ctx.status ?? route.rest.status, JSON.stringify(output), headers);
  }
}

/** The same body sent to another id is another request. */
function whatIsAsked({ params }: Match, body: string): string {
  return Object.keys(params).length === 0 ? body : `${JSON.stringify(params)}\n${body}`;
}

async function stream(
  options: DispatcherOptions,
  req: IncomingMessage,
  reply: Reply,
  route: Route,
  input: unknown,
): Promise<void> {
  const abort = new AbortController();
  const end = () => abort.abort();
  reply.res.once("close", end);
  options.stopping.addEventListener("abort", end, { once: true });
  try {
    const lastEventId = req.headers["last-event-id"];
    const wanted = typeof lastEventId === "string" ? { ...(input as object), lastEventId } : input;
    const items = (await route.invoke(reply.ctx, wanted, abort.signal)) as AsyncIterable<unknown>;
    if (reply.head) return sendEmpty(reply, 200);
    const wantsEvents = route.rest.kind === "sse" || /\btext\/event-stream\b/.test(req.headers.accept ?? "");
    if (!wantsEvents) return await sendLogLines(reply, items, abort.signal);
    const eventName = route.rest.event ?? "message";
    await sendEventStream(reply, items, { eventName, pingIntervalMs: options.pingIntervalMs, signal: abort.signal });
  } finally {
    end();
    options.stopping.removeEventListener("abort", end);
  }
}

/** A path parameter that cannot be right names nothing, which is 404, not a fault in the input. */
function notFoundForBadPath(error: PublicError, match: Match): PublicError {
  if (error.code !== "validation_failed") return error;
  const issue = error.issues?.find((candidate) => Object.hasOwn(match.params, candidate.field));
  if (!issue) return error;
  const value = String(match.params[issue.field]).slice(0, 100);
  return {
    code: "not_found",
    status: 404,
    message: `Nothing here has the ${issue.field} '${value}': ${issue.message}.`,
    unexpected: false,
  };
}
