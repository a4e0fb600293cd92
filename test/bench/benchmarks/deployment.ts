import { setTimeout as sleep } from "node:timers/promises";
import type { Quayside } from "@quayside/sdk";
import { deploy, makeHelloRepository } from "../support/apps.ts";
import type { Benchmark } from "../support/bench.ts";
import type { Figure } from "../support/figures.ts";
import { median, percentile } from "../support/statistics.ts";
import { startSteadyLoad } from "../support/steady-load.ts";

const TIMES = 5;
const LIMIT_MS = 5_000;
const PER_SECOND = 100;
const BEFORE_MS = 500;
/** The old release is drained and ended after the last switch; that belongs to it. */
const AFTER_MS = 1_500;
const LOADS = [
  { name: "8 kept connections", connections: 8 },
  { name: "a connection per request", connections: null },
];

/** Five deployments of the hello app in a row while requests come in at a steady rate. */
export const deployment: Benchmark = {
  name: "deployment",
  async measure(bench) {
    const installation = await bench.shared();
    const { quayside } = await installation.connect();
    const { directory, commits } = makeHelloRepository(bench.folder("hello"), 1 + TIMES * LOADS.length);
    const project = await quayside.api.hosting.projects.create.mutate({ name: "Switched", repo: directory });
    try {
      const { url } = await deploy(quayside, project.id, commits.shift() ?? "");
      const figures: Figure[] = [];
      for (const { name, connections } of LOADS) {
        figures.push(
          ...(await measureUnder(quayside, project.id, commits.splice(0, TIMES), { url, name, connections })),
        );
      }
      return figures;
    } finally {
      await quayside.api.hosting.projects.delete.mutate({ id: project.id });
      quayside.close();
    }
  },
};

async function measureUnder(
  quayside: Quayside,
  projectId: string,
  commits: string[],
  load: { url: string; name: string; connections: number | null },
): Promise<Figure[]> {
  const end = await startSteadyLoad({ url: load.url, perSecond: PER_SECOND, connections: load.connections });
  await sleep(BEFORE_MS);
  const times: number[] = [];
  for (const commit of commits) times.push((await deploy(quayside, projectId, commit)).ms);
  await sleep(AFTER_MS);
  const result = await end();
  const failed = result.sent - result.answered;
  const kinds = Object.entries(result.failures).map(([kind, number]) => `${number} ${kind}`);
  return [
    {
      figure: `deployment under load, ${load.name}`,
      value: median(times),
      unit: "ms",
      target: { rule: "at most", value: LIMIT_MS },
      note: `each ${times.map((ms) => Math.round(ms)).join(" ")} ms`,
    },
    {
      figure: `failed during ${times.length} switches, ${load.name}`,
      value: failed,
      unit: "requests",
      target: { rule: "at most", value: 0 },
      note: [
        `of ${result.sent}`,
        ...kinds,
        `longest gap ${Math.round(result.longestGapMs)} ms`,
        `p50 ${percentile(result.latency, 0.5)} ms, p99 ${percentile(result.latency, 0.99)} ms`,
      ].join("; "),
    },
  ];
}
