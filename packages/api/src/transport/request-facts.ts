import { randomUUID } from "node:crypto";
import type { IncomingHttpHeaders, IncomingMessage } from "node:http";
import type { BlockList } from "node:net";
import { isIPv6 } from "node:net";
import { SESSION_COOKIE } from "../identity/session-cookie.ts";
import type { RequestFacts } from "../platform/request-context.ts";

const REQUEST_ID = /^[A-Za-z0-9._-]{1,128}$/;
const SAFE_METHODS = new Set(["GET", "HEAD", "OPTIONS"]);
const MAX_FORWARDED = 20;

/** Id, address and credentials of a request. `trusted` are the proxies whose `X-Forwarded-For` is believed. */
export function readRequestFacts(req: IncomingMessage, trusted: BlockList, baseUrl: string): RequestFacts {
  const { headers } = req;
  const given = headers["x-request-id"];
  return {
    requestId: typeof given === "string" && REQUEST_ID.test(given) ? given : randomUUID(),
    ip: clientAddress(req, trusted),
    given: {
      bearer: readBearer(headers),
      cookie: readCookie(headers.cookie, SESSION_COOKIE),
      internalSecret: single(headers["x-internal-secret"]),
      superAdminToken: single(headers["x-super-admin-token"]),
      idempotencyKey: typeof headers["idempotency-key"] === "string" ? headers["idempotency-key"] : null,
      sameOrigin: isSameOrigin(headers, baseUrl),
      safe: SAFE_METHODS.has(req.method ?? ""),
    },
  };
}

function readBearer(headers: IncomingHttpHeaders): string | null {
  const { authorization } = headers;
  if (authorization !== undefined && /^bearer /i.test(authorization)) {
    const token = authorization.slice(7).trim();
    if (token !== "") return token;
  }
  return single(headers["x-api-key"]);
}

function single(value: string | string[] | undefined): string | null {
  return typeof value === "string" && value !== "" ? value : null;
}

function readCookie(header: string | undefined, name: string): string | null {
  if (!header) return null;
  for (const part of header.split(";")) {
    const at = part.indexOf("=");
    if (at > 0 && part.slice(0, at).trim() === name) return part.slice(at + 1).trim() || null;
  }
  return null;
}

/** What a browser says of where a request comes from. Programs send neither header and carry no cookies. */
function isSameOrigin(headers: IncomingHttpHeaders, baseUrl: string): boolean {
  const site = headers["sec-fetch-site"];
  if (site !== undefined) return site === "same-origin" || site === "none";
  const { origin } = headers;
  if (origin === undefined) return true;
  return origin === new URL(baseUrl).origin;
}

/** The right-most address that is not one of our proxies. */
function clientAddress(req: IncomingMessage, trusted: BlockList): string | null {
  let address = plainAddress(req.socket.remoteAddress);
  if (address === null) return null;
  const forwarded = single(req.headers["x-forwarded-for"])?.split(",").slice(-MAX_FORWARDED) ?? [];
  while (forwarded.length > 0 && isTrusted(address, trusted)) {
    const next = plainAddress(forwarded.pop()?.trim());
    if (next === null) break;
    address = next;
  }
  return address;
}

function plainAddress(address: string | undefined): string | null {
  if (!address || address.length > 64) return null;
  return address.startsWith("::ffff:") ? address.slice(7) : address;
}

function isTrusted(address: string, trusted: BlockList): boolean {
  return trusted.check(address, isIPv6(address) ? "ipv6" : "ipv4");
}
