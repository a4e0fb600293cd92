const DEFAULT_TIMEOUT_MS = 15_000;
const INTERVAL_MS = 20;

/** Waits until `probe` gives something other than undefined, null or false. Fails with `what` after the time-out. */
export async function until<T>(
  what: string,
  probe: () => Promise<T | undefined | null | false> | T | undefined | null | false,
  timeoutMs = DEFAULT_TIMEOUT_MS,
): Promise<T> {
  const deadline = performance.now() + timeoutMs;
  for (;;) {
    const value = await probe();
    if (value !== undefined && value !== null && value !== false) return value;
    if (performance.now() > deadline) throw new Error(`Waited ${timeoutMs} ms in vain until ${what}.`);
    await new Promise((resolve) => setTimeout(resolve, INTERVAL_MS));
  }
}
