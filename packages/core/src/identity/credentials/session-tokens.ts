import { createHmac, timingSafeEqual } from "node:crypto";

export const SESSION_PREFIX = "qss_";
export const SESSION_LIFETIME_MS = 7 * 24 * 3_600_000;

/** `qss_<session id, 32 hex>.<HMAC-SHA256, base64url>`. The row of the session says until when it holds. */
export function signSession(sessionId: string, secret: string): string {
  const body = SESSION_PREFIX + sessionId.replaceAll("-", "");
  return `${body}.${signature(body, secret)}`;
}

/** The session id, or null when the text was not signed with this secret. */
export function readSession(token: string, secret: string): string | null {
  const match = /^(qss_([0-9a-f]{32}))\.([A-Za-z0-9_-]{43})$/.exec(token);
  const [, body, hex, given] = match ?? [];
  if (!body || !hex || !given) return null;
  if (!timingSafeEqual(Buffer.from(signature(body, secret)), Buffer.from(given))) return null;
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}

function signature(body: string, secret: string): string {
  return createHmac("sha256", secret).update(body).digest("base64url");
}
