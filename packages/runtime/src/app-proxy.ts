import { createServer, type IncomingMessage, type Server, type ServerResponse, STATUS_CODES } from "node:http";
import type { Socket } from "node:net";
import { Readable } from "node:stream";
import type { AppProxy, RouteTarget } from "@quayside/contracts";
import httpProxy from "http-proxy-3";
import { InFlight } from "./in-flight.ts";
import {
  hostNameOf,
  normalHostName,
  removeConnectionHeaders,
  removeUpgrade,
  setForwardedHeaders,
  setRelativeTarget,
} from "./proxy-headers.ts";
import {
  NO_ANSWER,
  NOT_RUNNING,
  type ProxyAnswer,
  sendAnswer,
  sendAnswerOnSocket,
  unknownHost,
} from "./proxy-pages.ts";
import { errorCode } from "./wait.ts";

const RELEASE_HEADER = "x-quayside-release";
const HEADERS_LIMIT_MS = 30_000;
const KEEP_ALIVE_MS = 65_000;
const CONNECT_LIMIT_MS = 5_000;
/** How long `close` waits for what is in flight. */
const CLOSE_LIMIT_MS = 10_000;

export interface AppProxyOptions {
  host: string;
  /** 0 takes any free port. */
  port: number;
  /** Limit of a graceful end, in milliseconds. Default 10000. */
  closeLimitMs?: number | undefined;
}

/** Makes the reverse proxy in front of the apps. It listens once `listen` is called. */
export function createAppProxy(options: AppProxyOptions): AppProxy {
  return new HttpAppProxy(options);
}

class HttpAppProxy implements AppProxy {
  readonly #options: AppProxyOptions;
  readonly #routes = new Map<string, RouteTarget | null>();
  readonly #inFlight = new InFlight();
  readonly #upgraded = new Set<Socket>();
  readonly #server: Server;
  // No agent: a connection per request cannot be closed by the app just as it is used again. `toProxy` keeps the request
  // target as the client wrote it.
  readonly #proxy = httpProxy.createProxyServer({
    toProxy: true,
    prependPath: false,
    connectTimeout: CONNECT_LIMIT_MS,
  });
  #closing = false;

  constructor(options: AppProxyOptions) {
    this.#options = options;
    // A whole request or response may take any time (uploads, streams); only its headers may not.
    const limits = { requestTimeout: 0, headersTimeout: HEADERS_LIMIT_MS, keepAliveTimeout: KEEP_ALIVE_MS };
    this.#server = createServer({ ...limits, shouldUpgradeCallback: isWebSocket }, (req, res) =>
      this.#onRequest(req, res),
    );
    this.#server.on("upgrade", (req: IncomingMessage, socket: Socket, head: Buffer) =>
      this.#onUpgrade(req, socket, head),
    );
    this.#server.on("clientError", (_error, socket) => {
      if (socket.writable) socket.end("HTTP/1.1 400 Bad Request\r\nconnection: close\r\n\r\n");
      else socket.destroy();
    });
    // Every call brings its own handler; this one keeps a late error from ending the process.
    this.#proxy.on("error", () => undefined);
    this.#proxy.on("proxyRes", guardResponse);
    this.#proxy.on("proxyReq", (proxyReq, req, res) => {
      // An app that switches protocols unasked would be waited for forever.
      proxyReq.once("upgrade", (_answer: IncomingMessage, socket: Socket) => {
        socket.destroy();
        sendAnswer(req, res, NO_ANSWER);
      });
    });
    this.#proxy.on("proxyReqWs", (proxyReq, req) => {
      const releaseId = releaseOf.get(req);
      proxyReq.once("upgrade", (proxyRes: IncomingMessage) => {
        if (releaseId !== undefined) proxyRes.headers[RELEASE_HEADER] = releaseId;
      });
    });
  }

  listen(): Promise<number> {
    const { host, port } = this.#options;
    return new Promise((resolve, reject) => {
      this.#server.once("error", (error) => reject(explainListenError(error, host, port)));
      this.#server.listen(port, host, () => {
        const address = this.#server.address();
        resolve(typeof address === "object" && address !== null ? address.port : port);
      });
    });
  }

  /** Takes no new connections, lets what is in flight end within a bound, then ends the rest. */
  async close(): Promise<void> {
    if (!this.#server.listening) return;
    this.#closing = true;
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    this.#server.closeIdleConnections();
    const timer = setTimeout(() => {
      for (const socket of this.#upgraded) socket.destroy();
      this.#server.closeAllConnections();
    }, this.#options.closeLimitMs ?? CLOSE_LIMIT_MS);
    await closed;
    clearTimeout(timer);
  }

  setRoute(hostName: string, target: RouteTarget | null): void {
    this.#routes.set(normalHostName(hostName), target === null ? null : { ...target });
  }

  removeRoute(hostName: string): void {
    this.#routes.delete(normalHostName(hostName));
  }

  drain(releaseId: string, timeoutMs: number): Promise<boolean> {
    return this.#inFlight.drain(releaseId, timeoutMs);
  }

  #resolve(req: IncomingMessage): RouteTarget | ProxyAnswer {
    const hostName = hostNameOf(req);
    const target = this.#routes.get(hostName);
    if (target === undefined) return unknownHost(hostName);
    return target ?? NOT_RUNNING;
  }

  #onRequest(req: IncomingMessage, res: ServerResponse): void {
    if (this.#closing) res.shouldKeepAlive = false;
    const target = this.#resolve(req);
    if ("status" in target) {
      sendAnswer(req, res, target);
      return;
    }
    setForwardedHeaders(req);
    setRelativeTarget(req);
    removeUpgrade(req, res.shouldKeepAlive);
    this.#forward(req, res, target, canRepeat(req));
  }

  #forward(req: IncomingMessage, res: ServerResponse, target: RouteTarget, mayRetry: boolean): void {
    const leave = this.#inFlight.enter(target.releaseId);
    res.once("close", leave);
    releaseOf.set(req, target.releaseId);
    let failed = false;
    const onError = (error: Error) => {
      // The library reports both sides' errors; one answer is enough.
      if (failed) return;
      failed = true;
      if (res.headersSent || res.destroyed) {
        res.destroy();
        return;
      }
      const again = mayRetry && isConnectionLoss(error) ? this.#resolve(req) : NO_ANSWER;
      if ("status" in again) sendAnswer(req, res, again);
      else {
        leave();
        this.#forward(req, res, again, false);
      }
    };
    const body = mayRetry || canRepeat(req) ? { buffer: Readable.from([]) } : {};
    this.#proxy.web(req, res, { target: { host: "127.0.0.1", port: target.port }, ...body }, onError);
  }

  #onUpgrade(req: IncomingMessage, socket: Socket, head: Buffer): void {
    socket.on("error", () => socket.destroy());
    const target = this.#resolve(req);
    if ("status" in target) {
      sendAnswerOnSocket(req, socket, target);
      return;
    }
    const leave = this.#inFlight.enter(target.releaseId);
    this.#upgraded.add(socket);
    socket.once("close", () => {
      this.#upgraded.delete(socket);
      leave();
    });
    setForwardedHeaders(req);
    setRelativeTarget(req);
    releaseOf.set(req, target.releaseId);
    let opened = false;
    const onError = () => {
      if (!opened && socket.bytesWritten === 0) sendAnswerOnSocket(req, socket, NO_ANSWER);
      opened = true;
    };
    this.#proxy.ws(req, socket, head, { target: { host: "127.0.0.1", port: target.port } }, onError);
  }
}

/** Which release a request was sent to last. */
const releaseOf = new WeakMap<IncomingMessage, string>();

/** Makes an app's answer safe to pass on: what Node refuses to write would otherwise end the proxy. */
function guardResponse(proxyRes: IncomingMessage, req: IncomingMessage, res: ServerResponse): void {
  const status = proxyRes.statusCode ?? 0;
  if (status < 200 || status > 599) proxyRes.statusCode = 502;
  proxyRes.statusMessage = STATUS_CODES[proxyRes.statusCode ?? 0] ?? "";
  removeConnectionHeaders(proxyRes);
  // These speak of the connection to the app, not of the client's.
  for (const name of ["connection", "keep-alive", "proxy-connection"]) delete proxyRes.headers[name];
  const releaseId = releaseOf.get(req);
  if (releaseId !== undefined) proxyRes.headers[RELEASE_HEADER] = releaseId;
  if (!res.shouldKeepAlive) proxyRes.headers.connection = "close";
  // An answer that breaks off must break off for the client too, or it would wait for the rest.
  proxyRes.once("error", () => res.destroy());
  proxyRes.once("aborted", () => res.destroy());
}

function isWebSocket(req: IncomingMessage): boolean {
  return req.method === "GET" && req.headers.upgrade?.toLowerCase() === "websocket";
}

function canRepeat(req: IncomingMessage): boolean {
  const hasBody = req.headers["content-length"] !== undefined || req.headers["transfer-encoding"] !== undefined;
  return (req.method === "GET" || req.method === "HEAD") && (!hasBody || req.headers["content-length"] === "0");
}

function isConnectionLoss(error: Error): boolean {
  const code = errorCode(error);
  return code === "ECONNREFUSED" || code === "ECONNRESET";
}

function explainListenError(error: Error, host: string, port: number): Error {
  const code = errorCode(error);
  if (code === "EADDRINUSE") {
    return new Error(`port ${port} for apps is in use on ${host}; set APPS_PORT to a free one`, { cause: error });
  }
  if (code === "EACCES")
    return new Error(`port ${port} for apps may not be used; set APPS_PORT to another one`, { cause: error });
  return error;
}
