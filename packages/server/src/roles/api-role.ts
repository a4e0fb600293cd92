import { createServer, type IncomingMessage, type Server } from "node:http";
import {
  attachTrpcWebSocket,
  createRequestContext,
  createTrpcHttpHandler,
  type PublicError,
  type RequestContext,
  readRequestFacts,
} from "@quayside/api";
import { type Services, systemContext } from "@quayside/core";
import { createRestFacade } from "@quayside/rest-facade";
import type { Logger } from "pino";
import { blockListOf } from "../configuration/block-list.ts";
import type { Metrics } from "../observability/metrics.ts";
import { createProbes } from "../observability/probes.ts";

const HEADERS_TIMEOUT_MS = 15_000;
const REQUEST_TIMEOUT_MS = 120_000;
const KEEP_ALIVE_TIMEOUT_MS = 65_000;
const CLOSE_TIMEOUT_MS = 15_000;
const MAX_HEADER_BYTES = 16_384;

export interface ApiRole {
  port: number;
  stop(): Promise<void>;
}

/** Serves REST, tRPC over HTTP and WebSocket, docs, probes and metrics on one port. */
export async function startApiRole(
  services: Services,
  { log, requestLog }: { log: Logger; requestLog: Logger },
  metrics: Metrics,
): Promise<ApiRole> {
  const { config } = services;
  const trusted = blockListOf(config.TRUSTED_PROXIES);
  const stopping = new AbortController();
  const contexts = new WeakMap<IncomingMessage, RequestContext>();
  const startedAt = new WeakMap<IncomingMessage, number>();
  const requests = countRequests();

  // One context a request, whichever door asks for it.
  const createContext = (req: IncomingMessage): RequestContext => {
    const present = contexts.get(req);
    if (present) return present;
    const ctx = createRequestContext(services, readRequestFacts(req, trusted, config.BASE_URL));
    contexts.set(req, ctx);
    return ctx;
  };
  const onError = (error: unknown, told: PublicError, ctx: RequestContext | undefined) => {
    const fields = { requestId: ctx?.requestId, code: told.code, err: error };
    if (told.unexpected) log.error(fields, "a request failed unexpectedly");
    else if (told.status >= 500) log.warn(fields, "a request could not be served");
  };
  const trpc = createTrpcHttpHandler({ createContext, onError, stopping: stopping.signal });
  const app = createRestFacade({
    baseUrl: config.BASE_URL,
    version: services.version,
    areas: config.PLATFORM_AREAS,
    corsAllowedOrigins: config.CORS_ALLOWED_ORIGINS,
    createContext,
    trpc,
    probes: createProbes({
      ctx: systemContext(services, "probe"),
      metrics,
      isStopping: () => stopping.signal.aborted,
      internalSecret: config.INTERNAL_API_SECRET,
    }),
    stopping: stopping.signal,
    onError,
    onDone: (req, res, route, given) => {
      const ctx = given ?? createContext(req);
      const durationMs = performance.now() - (startedAt.get(req) ?? performance.now());
      const method = req.method ?? "";
      metrics.requestDone(route, method, res.statusCode, durationMs / 1_000);
      const principal = ctx.principal ?? ctx.asked;
      requestLog.info(
        {
          requestId: ctx.requestId,
          method,
          route,
          status: res.statusCode,
          durationMs: Math.round(durationMs * 100) / 100,
          principal: principal ? `${principal.via.kind}:${principal.user.name}` : (ctx.override ?? "anonymous"),
          ip: ctx.ip,
        },
        "request",
      );
    },
  });
  const server = createServer({ maxHeaderSize: MAX_HEADER_BYTES }, (req, res) => {
    startedAt.set(req, performance.now());
    requests.begin();
    res.once("close", () => requests.end());
    app(req, res);
  });
  server.headersTimeout = HEADERS_TIMEOUT_MS;
  server.requestTimeout = REQUEST_TIMEOUT_MS;
  server.keepAliveTimeout = KEEP_ALIVE_TIMEOUT_MS;

  const webSocket = attachTrpcWebSocket({
    createContext: (req, token) => {
      const facts = readRequestFacts(req, trusted, config.BASE_URL);
      // The handshake is a GET, but what comes over the socket can change things.
      const given = { ...facts.given, safe: false, bearer: token ?? facts.given.bearer };
      return createRequestContext(services, { ...facts, given });
    },
    onError,
  });
  server.on("upgrade", (req, socket, head) => {
    const path = req.url?.split("?", 1)[0];
    if (path === "/trpc" && !stopping.signal.aborted) return webSocket.upgrade(req, socket, head);
    // Node has let go of the socket: without a listener a client that breaks off would end the process.
    socket.on("error", () => socket.destroy());
    socket.end("HTTP/1.1 404 Not Found\r\nConnection: close\r\nContent-Length: 0\r\n\r\n", () => socket.destroy());
  });
  const port = await listen(server, config.PORT, config.HOST);
  metrics.ready.set(1);
  return {
    port,
    async stop() {
      stopping.abort();
      metrics.ready.set(0);
      server.close();
      server.closeIdleConnections();
      await Promise.all([webSocket.close(), Promise.race([requests.finished(), timeout(CLOSE_TIMEOUT_MS)])]);
      // What is left is connections without a request, which Node would keep for their keep-alive time.
      server.closeAllConnections();
    },
  };
}

/** Requests that are being answered. */
function countRequests() {
  let open = 0;
  let whenNone: (() => void) | null = null;
  return {
    begin: () => {
      open += 1;
    },
    end: () => {
      open -= 1;
      if (open === 0) whenNone?.();
    },
    finished: () =>
      new Promise<void>((resolve) => {
        whenNone = resolve;
        if (open === 0) resolve();
      }),
  };
}

function listen(server: Server, port: number, host: string): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once("error", (error: NodeJS.ErrnoException) => {
      if (error.code !== "EADDRINUSE") return reject(error);
      reject(new Error(`Port ${port} on ${host} is in use by another program; set PORT to a free one.`));
    });
    server.listen(port, host, () => {
      const address = server.address();
      resolve(typeof address === "object" && address ? address.port : port);
    });
  });
}

function timeout(ms: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, ms).unref();
  });
}
