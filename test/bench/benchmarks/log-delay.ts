import { setTimeout as sleep } from "node:timers/promises";
import { deploy, makeRepository } from "../support/apps.ts";
import type { Benchmark } from "../support/bench.ts";
import { openEventStream } from "../support/event-stream.ts";
import { count, type Histogram, percentile } from "../support/statistics.ts";

const LIMIT_MS = 50;
const TICK_MS = 20;
const MEASURE_MS = 8_000;
const SETTLE_MS = 1_000;

const APP = `
import { createServer } from "node:http";
createServer((request, response) => response.end("ok")).listen(Number(process.env.PORT), process.env.HOST);
setInterval(() => console.log("tick " + Date.now()), ${TICK_MS});
`;

/** From the moment an app prints a line to its arrival at a reader of the live log. */
export const logDelay: Benchmark = {
  name: "log-delay",
  async measure(bench) {
    const installation = await bench.shared();
    const { key, quayside } = await installation.connect();
    const { directory, commits } = makeRepository(bench.folder("ticker"), APP);
    const project = await quayside.api.hosting.projects.create.mutate({ name: "Ticker", repo: directory });
    try {
      const { id } = await deploy(quayside, project.id, commits[0] ?? "");
      const delays: Histogram = {};
      let measureFrom = Number.POSITIVE_INFINITY;
      const url = `${installation.baseUrl}/api/deployments/${id}/logs?follow=1&since=1s`;
      const stream = await openEventStream(url, key, (event) => {
        const printedAt = Number(/"line":"tick (\d+)"/.exec(event)?.[1] ?? 0);
        if (printedAt >= measureFrom) count(delays, Date.now() - printedAt);
      });
      await sleep(SETTLE_MS);
      measureFrom = Date.now();
      await sleep(MEASURE_MS);
      stream.close();
      const lines = Object.values(delays).reduce((sum, times) => sum + times, 0);
      return [
        {
          figure: "log line to SSE reader, p50",
          value: percentile(delays, 0.5),
          unit: "ms",
          target: { rule: "at most", value: LIMIT_MS },
          note: `p95 ${percentile(delays, 0.95)} ms, p99 ${percentile(delays, 0.99)} ms, ${lines} lines`,
        },
      ];
    } finally {
      await quayside.api.hosting.projects.delete.mutate({ id: project.id });
      quayside.close();
    }
  },
};
