import { setTimeout as sleep } from "node:timers/promises";
import type { Benchmark } from "../support/bench.ts";

const REST_MS = 2_000;

/** Resident memory of the same process when every other benchmark has been through it. */
export const memoryAfterLoad: Benchmark = {
  name: "memory-after-load",
  async measure(bench) {
    const installation = await bench.shared();
    const atOnce = installation.memory();
    await sleep(REST_MS);
    return [
      {
        figure: "memory after the whole load",
        value: installation.memory(),
        unit: "MB",
        note: `${Math.round(atOnce)} MB at once, the figure ${REST_MS / 1_000} s later`,
      },
    ];
  },
};
