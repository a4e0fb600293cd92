import type { ServerResponse } from "node:http";
import type { PublicError, RequestContext } from "@quayside/api";
import type { ErrorStyle } from "@quayside/contracts";
import { renderError } from "./render-error.ts";

const JSON_TYPE = "application/json; charset=utf-8";

export interface Reply {
  res: ServerResponse;
  ctx: RequestContext;
  path: string;
  head: boolean;
}

/** What every API answer carries. Pages have their own, stricter or wider, policy. */
export function baseHeaders(ctx: RequestContext): Record<string, string | string[]> {
  const headers: Record<string, string | string[]> = {
    "X-Request-Id": ctx.requestId,
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
  };
  if (ctx.config.BASE_URL.startsWith("https:")) headers["Strict-Transport-Security"] = "max-age=31536000";
  if (ctx.rate) {
    const { policy, limit, remaining, resetMs } = ctx.rate;
    headers["RateLimit-Policy"] = `"${policy}";q=${limit};w=60`;
    headers.RateLimit = `"${policy}";r=${remaining};t=${Math.ceil(resetMs / 1_000)}`;
  }
  if (ctx.cookies.length > 0) headers["Set-Cookie"] = ctx.cookies;
  return headers;
}

export function sendJson(reply: Reply, status: number, body: string, extra: Record<string, string> = {}): void {
  const { res, ctx, head } = reply;
  if (res.headersSent || res.destroyed) return;
  const headers = {
    ...baseHeaders(ctx),
    "Content-Type": JSON_TYPE,
    "Content-Length": String(Buffer.byteLength(body)),
    ...extra,
  };
  res.writeHead(status, headers);
  res.end(head ? undefined : body);
}

export function sendEmpty(reply: Reply, status: number, extra: Record<string, string> = {}): void {
  if (reply.res.headersSent || reply.res.destroyed) return;
  reply.res.writeHead(status, { ...baseHeaders(reply.ctx), ...extra });
  reply.res.end();
}

export function sendError(
  reply: Reply,
  error: PublicError,
  style: ErrorStyle,
  extra: Record<string, string> = {},
): void {
  const { ctx, path } = reply;
  const rendered = renderError(error, style, {
    baseUrl: ctx.config.BASE_URL,
    instance: path,
    requestId: ctx.requestId,
  });
  const headers: Record<string, string> = { ...extra, "Content-Type": rendered.contentType };
  if (error.retryAfterMs !== undefined) headers["Retry-After"] = String(Math.ceil(error.retryAfterMs / 1_000));
  if (rendered.status === 401) headers["WWW-Authenticate"] = 'Bearer realm="quayside"';
  // What is left of a body that is too large is not read.
  if (rendered.status === 413) headers.Connection = "close";
  sendJson(reply, rendered.status, rendered.body, headers);
}
