import type { IncomingMessage, ServerResponse } from "node:http";

const ALLOWED_HEADERS = "Authorization, Content-Type, Idempotency-Key, Last-Event-ID, X-API-Key, X-Request-Id";
const EXPOSED_HEADERS = "Idempotency-Replayed, RateLimit, RateLimit-Policy, Retry-After, X-Request-Id";
const MAX_AGE_SECONDS = 600;

/** Lets pages of the listed origins call the API with a bearer credential (WHATWG Fetch). Cookies are never allowed. */
export function allowOrigins(origins: readonly string[]) {
  const allowed = new Set(origins.map((origin) => new URL(origin).origin));
  return (req: IncomingMessage, res: ServerResponse, next: () => void): void => {
    const { origin } = req.headers;
    if (allowed.size > 0) res.setHeader("Vary", "Origin");
    if (origin === undefined || !allowed.has(origin)) {
      next();
      return;
    }
    res.setHeader("Access-Control-Allow-Origin", origin);
    res.setHeader("Access-Control-Expose-Headers", EXPOSED_HEADERS);
    if (req.method !== "OPTIONS" || req.headers["access-control-request-method"] === undefined) {
      next();
      return;
    }
    res.setHeader("Access-Control-Allow-Methods", "GET, HEAD, POST, PUT, PATCH, DELETE");
    res.setHeader("Access-Control-Allow-Headers", ALLOWED_HEADERS);
    res.setHeader("Access-Control-Max-Age", String(MAX_AGE_SECONDS));
    res.writeHead(204).end();
  };
}
