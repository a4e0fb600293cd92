// Makes load with autocannon, in a process of its own, so that the measured process and the runner do not pay for it.
import autocannon from "autocannon";
import type { Load, LoadResult } from "./load.ts";

process.on("disconnect", () => process.exit(0));
process.on("message", async (load: Load) => {
  const { seconds, bodies, ...request } = load;
  let next = 0;
  // One sequence for all connections, so that none asks for what another has just asked for.
  const setupRequest = (made: autocannon.Request) => {
    next += 1;
    return { ...made, body: bodies?.[next % bodies.length] };
  };
  const requests = bodies ? { requests: [{ setupRequest } as autocannon.Request] } : {};
  const result = await autocannon({ ...request, ...requests, duration: seconds, pipelining: 1, timeout: 5 });
  const answer: LoadResult = {
    perSecond: result["2xx"] / result.duration,
    failures: result.non2xx + result.errors,
    p99: result.latency.p99,
  };
  process.send?.(answer);
});
