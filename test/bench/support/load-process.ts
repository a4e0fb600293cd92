// Makes load with autocannon, in a process of its own, so that the measured process and the runner do not pay for it.
import autocannon from "autocannon";
import type { Load, LoadResult } from "./load.ts";

process.on("disconnect", () => process.exit(0));
process.on("message", async (load: Load) => {
  const { seconds, ...request } = load;
  const result = await autocannon({ ...request, duration: seconds, pipelining: 1, timeout: 5 });
  const answer: LoadResult = {
    perSecond: result["2xx"] / result.duration,
    failures: result.non2xx + result.errors,
    p99: result.latency.p99,
  };
  process.send?.(answer);
});
