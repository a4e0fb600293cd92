// `npm run bench [-- name …] [--json FILE]` measures what Quayside promises. docs/benchmarks.md explains each figure.
import { writeFileSync } from "node:fs";
import { cpus, totalmem } from "node:os";
import { parseArgs, styleText } from "node:util";
import { deployment } from "./benchmarks/deployment.ts";
import { keyVerify } from "./benchmarks/key-verify.ts";
import { keyVerifyUncached } from "./benchmarks/key-verify-uncached.ts";
import { logDelay } from "./benchmarks/log-delay.ts";
import { logReaders } from "./benchmarks/log-readers.ts";
import { memory } from "./benchmarks/memory.ts";
import { memoryAfterLoad } from "./benchmarks/memory-after-load.ts";
import { peopleBulk } from "./benchmarks/people-bulk.ts";
import { peopleList } from "./benchmarks/people-list.ts";
import { projectRead } from "./benchmarks/project-read.ts";
import { start } from "./benchmarks/start.ts";
import { usageIngest } from "./benchmarks/usage-ingest.ts";
import { webhookHistory } from "./benchmarks/webhook-history.ts";
import { webhookDelay, webhookLimit, webhookNeighbour, webhookThroughput } from "./benchmarks/webhooks.ts";
import { Bench, type Benchmark } from "./support/bench.ts";
import { asJson, type Figure, renderTable } from "./support/figures.ts";

const BENCHMARKS: readonly Benchmark[] = [
  start,
  memory,
  projectRead,
  keyVerify,
  keyVerifyUncached,
  deployment,
  logDelay,
  logReaders,
  usageIngest,
  peopleBulk,
  peopleList,
  webhookDelay,
  webhookThroughput,
  webhookNeighbour,
  webhookHistory,
  webhookLimit,
  memoryAfterLoad,
];

/** A benchmark that takes longer than this hangs. */
const LIMIT_MS = 120_000;

const coloured = process.stdout.isTTY === true && process.env.NO_COLOR === undefined;
const dim = (text: string) => (coloured ? styleText("dim", text) : text);
const messageOf = (error: unknown) => (error instanceof Error ? error.message : String(error));

function choose(names: readonly string[]): readonly Benchmark[] {
  const unknown = names.find((name) => !BENCHMARKS.some((benchmark) => benchmark.name === name));
  if (unknown !== undefined) {
    throw new Error(`There is no benchmark '${unknown}'; there are: ${BENCHMARKS.map(({ name }) => name).join(", ")}.`);
  }
  return names.length === 0 ? BENCHMARKS : BENCHMARKS.filter(({ name }) => names.includes(name));
}

async function within<T>(ms: number, work: Promise<T>): Promise<T> {
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(() => late.reject(new Error(`it took longer than ${ms / 1_000} s`)), ms);
  return Promise.race([work, late.promise]).finally(() => clearTimeout(timer));
}

async function main(): Promise<void> {
  const { positionals, values } = parseArgs({ allowPositionals: true, options: { json: { type: "string" } } });
  const chosen = choose(positionals);
  const bench = new Bench();
  let interrupted = false;
  const stop = () => {
    interrupted = true;
    void bench.close().finally(() => process.exit(130));
  };
  process.once("SIGINT", stop);
  process.once("SIGTERM", stop);
  const figures: Figure[] = [];
  try {
    for (const { name, measure, limitMs = LIMIT_MS } of chosen) {
      if (interrupted) return;
      const startedAt = performance.now();
      try {
        figures.push(...(await within(limitMs, measure(bench))));
        process.stderr.write(dim(`${name}: ${((performance.now() - startedAt) / 1_000).toFixed(1)} s\n`));
      } catch (error) {
        process.exitCode = 1;
        process.stderr.write(`${name} could not be measured: ${messageOf(error)}\n`);
      }
    }
  } finally {
    await bench.close();
  }
  process.stdout.write(`\n${renderTable(figures, coloured)}\n`);
  const machine = {
    cpus: cpus().length,
    model: cpus()[0]?.model ?? "",
    memoryBytes: totalmem(),
    node: process.version,
  };
  if (values.json !== undefined) writeFileSync(values.json, asJson(figures, machine));
}

try {
  await main();
} catch (error) {
  process.stderr.write(`${messageOf(error)}\n`);
  process.exitCode = 1;
}
