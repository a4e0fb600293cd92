// Sends requests at a fixed rate, whether or not earlier ones are answered, until it is asked for the result.
import { Agent, request } from "node:http";
import { count } from "./statistics.ts";
import type { SteadyLoad, SteadyResult } from "./steady-load.ts";

const TIMEOUT_MS = 5_000;
const TICK_MS = 5;

const result: SteadyResult = { sent: 0, answered: 0, failures: {}, longestGapMs: 0, latency: {} };
let lastAnswerAt = 0;

process.on("disconnect", () => process.exit(0));
process.once("message", (load: SteadyLoad) => {
  const { host, port } = new URL(load.url);
  const agent = load.connections === null ? false : new Agent({ keepAlive: true, maxSockets: load.connections });
  const options = { host: "127.0.0.1", port, headers: { host }, agent, timeout: TIMEOUT_MS };
  const startedAt = performance.now();
  lastAnswerAt = startedAt;
  const timer = setInterval(() => {
    const due = ((performance.now() - startedAt) * load.perSecond) / 1_000;
    while (result.sent < due) send(options);
  }, TICK_MS);
  process.once("message", async () => {
    clearInterval(timer);
    const deadline = performance.now() + TIMEOUT_MS + 1_000;
    while (result.answered + failed() < result.sent && performance.now() < deadline) {
      await new Promise((resolve) => setTimeout(resolve, TICK_MS));
    }
    const open = result.sent - result.answered - failed();
    if (open > 0) result.failures["no answer"] = open;
    process.send?.(result);
  });
  process.send?.("started");
});

function failed(): number {
  return Object.values(result.failures).reduce((sum, times) => sum + times, 0);
}

function send(options: object): void {
  result.sent += 1;
  const sentAt = performance.now();
  let settled = false;
  const settle = (failure: string | null) => {
    if (settled) return;
    settled = true;
    if (failure !== null) {
      result.failures[failure] = (result.failures[failure] ?? 0) + 1;
      return;
    }
    const now = performance.now();
    result.answered += 1;
    result.longestGapMs = Math.max(result.longestGapMs, now - lastAnswerAt);
    lastAnswerAt = now;
    count(result.latency, now - sentAt);
  };
  const req = request(options, (res) => {
    const status = res.statusCode ?? 0;
    res.on("error", () => settle("cut off"));
    res.on("end", () => settle(status >= 200 && status < 300 ? null : `status ${status}`));
    res.resume();
  });
  req.on("timeout", () => {
    settle("time-out");
    req.destroy();
  });
  req.on("error", (error: NodeJS.ErrnoException) => settle(error.code ?? error.message));
  req.end();
}
