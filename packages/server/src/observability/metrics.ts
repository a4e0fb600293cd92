import { collectDefaultMetrics, Gauge, Histogram, Registry } from "prom-client";

const SECONDS_BUCKETS = [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

export interface Metrics {
  registry: Registry;
  requestDone(route: string, method: string, status: number, seconds: number): void;
  jobDone(job: string, outcome: string, seconds: number): void;
  ready: Gauge;
}

/** Prometheus metrics of this process. Labels are routes and job names, never ids. */
export function createMetrics(): Metrics {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  const requests = new Histogram({
    name: "quayside_http_request_duration_seconds",
    help: "Duration of HTTP requests by route, method and status.",
    labelNames: ["route", "method", "status"] as const,
    buckets: SECONDS_BUCKETS,
    registers: [registry],
  });
  const jobs = new Histogram({
    name: "quayside_job_duration_seconds",
    help: "Duration of background jobs by name and outcome.",
    labelNames: ["job", "outcome"] as const,
    buckets: [...SECONDS_BUCKETS, 30, 60, 300],
    registers: [registry],
  });
  const ready = new Gauge({
    name: "quayside_ready",
    help: "1 while the process takes requests.",
    registers: [registry],
  });
  return {
    registry,
    ready,
    requestDone: (route, method, status, seconds) => requests.labels(route, method, String(status)).observe(seconds),
    jobDone: (job, outcome, seconds) => jobs.labels(job, outcome).observe(seconds),
  };
}
