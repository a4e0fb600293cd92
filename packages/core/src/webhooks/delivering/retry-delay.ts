/** The first attempt and three retries. */
export const MAX_ATTEMPTS = 4;
const GROWTH = 4;
const JITTER = 0.2;

/**
 * Milliseconds from a failed attempt to the next one: base × 4ⁿ, a fifth more or less so that receivers are not met by
 * all at once, and no sooner than the receiver asked for. `attempt` is 1 for the first.
 */
export function retryDelay(
  attempt: number,
  baseMs: number,
  retryAfterMs: number | null,
  random = Math.random(),
): number {
  const jitter = 1 - JITTER + 2 * JITTER * random;
  return Math.round(Math.max(baseMs * GROWTH ** (attempt - 1) * jitter, retryAfterMs ?? 0));
}
