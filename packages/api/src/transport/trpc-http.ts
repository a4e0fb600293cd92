import type { IncomingMessage, ServerResponse } from "node:http";
import { nodeHTTPRequestHandler } from "@trpc/server/adapters/node-http";
import { appRouter } from "../app-router.ts";
import { type PublicError, toPublicError } from "../platform/errors.ts";
import type { RequestContext } from "../platform/request-context.ts";

/** As much as the largest REST path takes; a stranger is turned away before his body is read. */
const MAX_BODY_BYTES = 16 * 1_048_576;
const MAX_BATCH_SIZE = 20;

export interface TrpcHttpOptions {
  createContext(req: IncomingMessage): RequestContext;
  /** Aborts when the process stops: streams end, and their clients reconnect. */
  stopping: AbortSignal;
  onError(error: unknown, told: PublicError, ctx: RequestContext | undefined): void;
}

/** Serves tRPC over HTTP: batches of at most 20 calls, bodies of at most 16 MiB, subscriptions as server-sent events. */
export function createTrpcHttpHandler(options: TrpcHttpOptions) {
  return (req: IncomingMessage, res: ServerResponse, procedurePath: string): Promise<void> => {
    endStreamWhenStopping(res, options.stopping);
    return nodeHTTPRequestHandler({
      router: appRouter,
      req,
      res,
      path: procedurePath,
      maxBodySize: MAX_BODY_BYTES,
      maxBatchSize: MAX_BATCH_SIZE,
      createContext: ({ req: request }) => options.createContext(request),
      onError: ({ error, ctx }) => options.onError(error, toPublicError(error), ctx),
      responseMeta: ({ ctx }) => ({ headers: responseHeaders(ctx) }),
    });
  };
}

function endStreamWhenStopping(res: ServerResponse, stopping: AbortSignal): void {
  const end = () => {
    if (String(res.getHeader("content-type")).startsWith("text/event-stream")) res.destroy();
  };
  stopping.addEventListener("abort", end, { once: true });
  res.once("close", () => stopping.removeEventListener("abort", end));
}

function responseHeaders(ctx: RequestContext | undefined): Headers {
  const headers = new Headers({ "cache-control": "no-store", "x-content-type-options": "nosniff" });
  if (!ctx) return headers;
  headers.set("x-request-id", ctx.requestId);
  for (const cookie of ctx.cookies) headers.append("set-cookie", cookie);
  return headers;
}
