import type { Histogram } from "./statistics.ts";

export interface ReadersJob {
  kind: "sse" | "websocket";
  readers: number;
  baseUrl: string;
  key: string;
  deploymentId: string;
  /** Lines `line <1…lines> <time>` that every reader must get. */
  lines: number;
  timeoutMs: number;
}

export interface ReadersResult {
  /** Readers that got every line once and in order. */
  perfect: number;
  missing: number;
  doubled: number;
  /** Connections that the server ended. */
  cut: number;
  /** Readers whose subscription was not answered in time. */
  unanswered: number;
  delays: Histogram;
}
