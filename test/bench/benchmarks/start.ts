import type { Benchmark } from "../support/bench.ts";
import { type Installation, startInstallation } from "../support/installation.ts";
import { median } from "../support/statistics.ts";

const TIMES = 3;
const COLD_LIMIT_MS = 5_000;
const WARM_LIMIT_MS = 2_000;

/** From the start of the process to the first 200 of /readyz, with a fresh data folder and with a used one. */
export const start: Benchmark = {
  name: "start",
  async measure(bench) {
    // Once before, so that compiled code and the files of PostgreSQL are at hand.
    await timeOf(startInstallation(bench.folder("warm-up")));
    const cold: number[] = [];
    const warm: number[] = [];
    let used = "";
    for (let time = 0; time < TIMES; time += 1) {
      used = bench.folder("cold");
      cold.push(await timeOf(startInstallation(used)));
    }
    for (let time = 0; time < TIMES; time += 1) warm.push(await timeOf(startInstallation(used)));
    return [
      {
        figure: "cold start to ready",
        value: median(cold),
        unit: "ms",
        target: { rule: "at most", value: COLD_LIMIT_MS },
        note: each(cold),
      },
      {
        figure: "warm start to ready",
        value: median(warm),
        unit: "ms",
        target: { rule: "at most", value: WARM_LIMIT_MS },
        note: each(warm),
      },
    ];
  },
};

async function timeOf(starting: Promise<Installation>): Promise<number> {
  const installation = await starting;
  await installation.stop();
  return installation.readyMs;
}

function each(times: number[]): string {
  return `each ${times.map((ms) => Math.round(ms)).join(" ")} ms`;
}
