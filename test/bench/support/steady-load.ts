import { startHelper } from "./children.ts";
import type { Histogram } from "./statistics.ts";

export interface SteadyLoad {
  url: string;
  perSecond: number;
  /** Connections that are kept and shared; null: a new one for each request. */
  connections: number | null;
}

export interface SteadyResult {
  sent: number;
  answered: number;
  /** Number of each kind: a status that is not 2xx, a reset, a time-out. */
  failures: Record<string, number>;
  /** Longest time between two answers that followed each other. */
  longestGapMs: number;
  latency: Histogram;
}

/** Starts the load; the function that comes back ends it and tells how it went. */
export async function startSteadyLoad(load: SteadyLoad): Promise<() => Promise<SteadyResult>> {
  const helper = startHelper("support/steady-load-process.ts");
  await helper.ask(load);
  return async () => {
    try {
      return await helper.ask<SteadyResult>({ end: true });
    } finally {
      await helper.stop();
    }
  };
}
