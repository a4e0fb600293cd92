import { once } from "node:events";
import type { Benchmark } from "../support/bench.ts";
import { startProgram } from "../support/children.ts";

const LIMIT_MB = 250;
const DEMOS = 2;

/** Resident memory of the whole platform in one process, after the demo. */
export const memory: Benchmark = {
  name: "memory",
  async measure(bench) {
    const installation = await bench.shared();
    const idle = installation.memory();
    for (let time = 0; time < DEMOS; time += 1) {
      const demo = startProgram("The demo", ["scripts/demo.ts"], installation.env);
      const [code] = await once(demo.process, "exit");
      if (code !== 0) throw demo.failure(`ended with ${code}`);
    }
    return [
      {
        figure: "memory after two demos",
        value: installation.memory(),
        unit: "MB",
        target: { rule: "at most", value: LIMIT_MB },
        note: `before ${Math.round(idle)} MB`,
      },
    ];
  },
};
