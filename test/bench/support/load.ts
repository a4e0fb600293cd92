import { isDeepStrictEqual } from "node:util";
import { type Child, startHelper } from "./children.ts";
import type { Figure } from "./figures.ts";
import { median } from "./statistics.ts";

export interface Request {
  url: string;
  method: "GET" | "POST";
  headers: Record<string, string>;
  body?: string;
  /** Sent one after another, in place of `body`. */
  bodies?: readonly string[];
}

export interface Load extends Request {
  connections: number;
  seconds: number;
}

export interface LoadResult {
  /** Answers with 2xx a second. */
  perSecond: number;
  failures: number;
  /** Milliseconds. */
  p99: number;
}

const CONNECTIONS = 32;
const WARM_UP_SECONDS = 3;
const SECONDS = 4;
const PAIRS = 4;

/**
 * Throughput of Quayside beside a bare handler that gives the same answer: turn by turn (A B, B A, …), so that whatever
 * else the machine does meets both. The ratio is the median of the ratios of the pairs.
 */
export async function compare(figure: string, ours: Request, bare: Request, target: number): Promise<Figure> {
  await requireSameAnswer(ours, bare);
  const loader = startHelper("support/load-process.ts");
  try {
    for (const request of [ours, bare]) await run(loader, request, WARM_UP_SECONDS);
    const rounds: { ours: LoadResult; bare: LoadResult }[] = [];
    for (let pair = 0; pair < PAIRS; pair += 1) {
      const first = pair % 2 === 0 ? ours : bare;
      const one = await run(loader, first, SECONDS);
      const other = await run(loader, first === ours ? bare : ours, SECONDS);
      rounds.push(first === ours ? { ours: one, bare: other } : { ours: other, bare: one });
    }
    const ratios = rounds.map((round) => round.ours.perSecond / round.bare.perSecond);
    return {
      figure,
      value: median(rounds.map((round) => round.ours.perSecond)),
      unit: "req/s",
      baseline: median(rounds.map((round) => round.bare.perSecond)),
      ratio: median(ratios),
      target: { rule: "ratio at least", value: target },
      note: `pairs ${ratios.map((ratio) => ratio.toFixed(2)).join(" ")}; p99 ${p99(rounds, "ours")} ms, bare ${p99(rounds, "bare")} ms`,
    };
  } finally {
    await loader.stop();
  }
}

function p99(rounds: { ours: LoadResult; bare: LoadResult }[], side: "ours" | "bare"): number {
  return median(rounds.map((round) => round[side].p99));
}

async function run(loader: Child, request: Request, seconds: number): Promise<LoadResult> {
  const load: Load = { ...request, connections: CONNECTIONS, seconds };
  const result = await loader.ask<LoadResult>(load);
  if (result.failures > 0) throw new Error(`${request.url}: ${result.failures} requests failed under load.`);
  return result;
}

async function requireSameAnswer(ours: Request, bare: Request): Promise<void> {
  const [one, other] = await Promise.all([answerOf(ours), answerOf(bare)]);
  if (isDeepStrictEqual(JSON.parse(one), JSON.parse(other))) return;
  throw new Error(`The bare handler answers otherwise:\n${one}\n${other}`);
}

async function answerOf({ url, method, headers, body }: Request): Promise<string> {
  const response = await fetch(url, { method, headers, ...(body === undefined ? {} : { body }) });
  const text = await response.text();
  if (!response.ok) throw new Error(`${url} answered ${response.status}: ${text}`);
  return text;
}
