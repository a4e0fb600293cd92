const DAY_MS = 24 * 60 * 60 * 1000;
const SECONDS = /^\d+$/;
/** The one form of date that may be sent (RFC 9110, section 5.6.7). */
const HTTP_DATE = /^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/;

/**
 * How long a `Retry-After` (RFC 9110, section 10.2.3) asks to wait: from 0 to 24 hours in milliseconds, null when it is
 * absent or says nothing that can be understood.
 */
export function parseRetryAfter(value: string | undefined, now: Date): number | null {
  const text = value?.trim() ?? "";
  if (SECONDS.test(text)) return Math.min(Number(text) * 1000, DAY_MS);
  if (!HTTP_DATE.test(text)) return null;
  const waitMs = Date.parse(text) - now.getTime();
  return Number.isNaN(waitMs) ? null : Math.min(Math.max(waitMs, 0), DAY_MS);
}
