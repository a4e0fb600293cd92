import type { IncomingMessage, RequestListener, ServerResponse } from "node:http";
import { appRouter, type PublicError, type RequestContext, toPublicError } from "@quayside/api";
import { type Area, PlatformError } from "@quayside/contracts";
import express, { type NextFunction, type Request, type Response } from "express";
import { allowOrigins } from "./cors.ts";
import { createDispatcher } from "./dispatch/dispatcher.ts";
import { errorStyleOfPath } from "./dispatch/render-error.ts";
import { buildRouteTable } from "./dispatch/route-table.ts";
import { sendError } from "./dispatch/send.ts";
import { createDocsRouter } from "./docs/docs-router.ts";

const PING_INTERVAL_MS = 30_000;
const TRPC_PREFIX = "/trpc/";

export interface RestFacadeOptions {
  baseUrl: string;
  version: string;
  areas: readonly Area[];
  corsAllowedOrigins: readonly string[];
  createContext(req: IncomingMessage): RequestContext;
  /** The inner door over HTTP. */
  trpc(req: IncomingMessage, res: ServerResponse, procedurePath: string): Promise<void>;
  /** Probes and metrics, mounted before everything else. */
  probes: express.Handler;
  stopping: AbortSignal;
  pingIntervalMs?: number;
  onError(error: unknown, told: PublicError, ctx: RequestContext): void;
  onDone(req: IncomingMessage, res: ServerResponse, route: string, ctx: RequestContext | null): void;
}

/** The outer door: documented REST paths, tRPC, docs, and a 404 in the style of the area that was asked. */
export function createRestFacade(options: RestFacadeOptions): RequestListener {
  const app = express();
  app.disable("x-powered-by");
  app.disable("etag");
  const table = buildRouteTable(options.areas);
  const dispatch = createDispatcher({ ...options, table, pingIntervalMs: options.pingIntervalMs ?? PING_INTERVAL_MS });

  const cors = options.corsAllowedOrigins.length > 0 ? allowOrigins(options.corsAllowedOrigins) : null;
  app.use((req, res, next) => {
    if (!req.url.startsWith(TRPC_PREFIX)) return next();
    const path = req.url.slice(TRPC_PREFIX.length).split("?", 1)[0] ?? "";
    res.once("close", () => options.onDone(req, res, trpcRoute(path), null));
    options.trpc(req, res, decodeURIComponent(path)).catch(next);
  });
  app.use(options.probes);
  app.use(createDocsRouter(table, options));
  app.get("/", (_req, res) => res.redirect(302, "/docs"));
  app.use((req, res) => refuse(options, req, res, isDecodable(req.path) ? notFound(req) : new URIError()));
  app.use((error: unknown, req: Request, res: Response, _next: NextFunction) => refuse(options, req, res, error));
  return (req, res) => {
    // Documented paths do not pass through Express: it gives them nothing, and its set-up costs as much as a small one.
    const serve = () => {
      if (!dispatch(req, res)) app(req, res);
    };
    if (cors) cors(req, res, serve);
    else serve();
  };
}

/** A label of few values: clients choose what they call. */
function trpcRoute(path: string): string {
  if (path.includes(",")) return "trpc:batch";
  return Object.hasOwn(appRouter._def.procedures, path) ? `trpc:${path}` : "trpc:unknown";
}

function notFound(req: Request): PlatformError {
  return new PlatformError(
    "not_found",
    `There is no ${req.method} ${req.path.slice(0, 200)} here; /docs lists what there is.`,
  );
}

function refuse(options: RestFacadeOptions, req: Request, res: Response, error: unknown): void {
  const ctx = options.createContext(req);
  const told = isBadUrl(error) ? badUrl() : toPublicError(error);
  if (told.unexpected) options.onError(error, told, ctx);
  res.once("close", () => options.onDone(req, res, "unknown", ctx));
  if (res.headersSent) res.destroy();
  else sendError({ res, ctx, path: req.path, head: req.method === "HEAD" }, told, errorStyleOfPath(req.path));
}

function isDecodable(path: string): boolean {
  try {
    decodeURIComponent(path);
    return true;
  } catch {
    return false;
  }
}

function isBadUrl(error: unknown): boolean {
  return error instanceof URIError;
}

function badUrl(): PublicError {
  return toPublicError(new PlatformError("invalid_request", "The URL has a broken percent-encoding."));
}
