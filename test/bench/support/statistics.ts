export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >>> 1;
  const upper = sorted[middle];
  if (upper === undefined) throw new Error("Nothing was measured.");
  return sorted.length % 2 === 1 ? upper : (upper + (sorted[middle - 1] ?? upper)) / 2;
}

/** How often each whole number of milliseconds was measured. Small enough to send, and to add up. */
export type Histogram = Record<number, number>;

export function count(histogram: Histogram, ms: number): void {
  const slot = Math.max(0, Math.round(ms));
  histogram[slot] = (histogram[slot] ?? 0) + 1;
}

export function sum(histograms: readonly Histogram[]): Histogram {
  const total: Histogram = {};
  for (const histogram of histograms) {
    for (const [ms, times] of Object.entries(histogram)) total[Number(ms)] = (total[Number(ms)] ?? 0) + times;
  }
  return total;
}

/** The least number that `share` of all measured ones do not exceed. */
export function percentile(histogram: Histogram, share: number): number {
  const slots = Object.entries(histogram).sort(([a], [b]) => Number(a) - Number(b));
  const wanted = slots.reduce((total, [, times]) => total + times, 0) * share;
  let seen = 0;
  for (const [ms, times] of slots) {
    seen += times;
    if (seen >= wanted) return Number(ms);
  }
  throw new Error("Nothing was measured.");
}
