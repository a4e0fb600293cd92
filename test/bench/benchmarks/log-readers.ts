import { request } from "node:http";
import { deploy, makeRepository } from "../support/apps.ts";
import type { Benchmark } from "../support/bench.ts";
import { type Child, startHelper } from "../support/children.ts";
import type { Figure } from "../support/figures.ts";
import type { ReadersJob, ReadersResult } from "../support/readers.ts";
import { percentile, sum } from "../support/statistics.ts";

const READERS_OF_A_KIND = 500;
const KINDS = ["sse", "websocket"] as const;
const LINES = 200;
const EVERY_MS = 20;
const LIMIT_MS = 40_000;

const APP = `
import { createServer } from "node:http";
createServer((request, response) => {
  response.end("ok");
  if (request.url !== "/print") return;
  let number = 0;
  const timer = setInterval(() => {
    number += 1;
    console.log("line " + number + " " + Date.now());
    if (number === ${LINES}) clearInterval(timer);
  }, ${EVERY_MS});
}).listen(Number(process.env.PORT), process.env.HOST);
`;

/** 500 readers over SSE and 500 over WebSocket of one deployment at once. */
export const logReaders: Benchmark = {
  name: "log-readers",
  async measure(bench) {
    const installation = await bench.shared();
    const { key, quayside } = await installation.connect();
    const { directory, commits } = makeRepository(bench.folder("printer"), APP);
    const project = await quayside.api.hosting.projects.create.mutate({ name: "Printer", repo: directory });
    const helpers: Child[] = [];
    try {
      const { id, url } = await deploy(quayside, project.id, commits[0] ?? "");
      const before = installation.memory();
      for (const kind of KINDS) {
        const helper = startHelper("support/readers-process.ts");
        helpers.push(helper);
        const job: ReadersJob = {
          kind,
          readers: READERS_OF_A_KIND,
          baseUrl: installation.baseUrl,
          key,
          deploymentId: id,
          lines: LINES,
          timeoutMs: LIMIT_MS,
        };
        await helper.ask(job);
      }
      const connected = installation.memory();
      const answers = Promise.all(helpers.map((helper) => helper.receive<ReadersResult>()));
      await openPath(url, "/print");
      const results = await answers;
      const after = installation.memory();
      return figuresOf(results, { before, connected, after });
    } finally {
      await Promise.all(helpers.map((helper) => helper.stop()));
      await quayside.api.hosting.projects.delete.mutate({ id: project.id });
      quayside.close();
    }
  },
};

function figuresOf(results: ReadersResult[], memory: { before: number; connected: number; after: number }): Figure[] {
  const total = (field: "perfect" | "missing" | "doubled" | "cut" | "unanswered") =>
    results.reduce((sumSoFar, result) => sumSoFar + result[field], 0);
  const delays = sum(results.map((result) => result.delays));
  const wanted = READERS_OF_A_KIND * KINDS.length;
  const byKind = KINDS.map((kind, index) => {
    const own = results[index]?.delays ?? {};
    return `${kind} p50 ${percentile(own, 0.5)} ms, p99 ${percentile(own, 0.99)} ms`;
  });
  return [
    {
      figure: "readers with every line, once, in order",
      value: total("perfect"),
      unit: "readers",
      target: { rule: "at least", value: wanted },
      note: `of ${wanted}; ${total("missing")} lines missing, ${total("doubled")} doubled, ${total("cut")} cut off, ${total("unanswered")} never answered`,
    },
    { figure: "delivery to 1,000 readers, p50", value: percentile(delays, 0.5), unit: "ms", note: byKind.join("; ") },
    { figure: "delivery to 1,000 readers, p99", value: percentile(delays, 0.99), unit: "ms" },
    {
      figure: "memory with 1,000 readers",
      value: memory.after,
      unit: "MB",
      note: `${Math.round(memory.before)} MB before, ${Math.round(memory.connected)} MB connected`,
    },
  ];
}

/** Asks the app through the proxy. `*.localhost` is this machine, also where the resolver does not know it. */
function openPath(url: string, path: string): Promise<void> {
  const { host, port } = new URL(url);
  return new Promise((resolve, reject) => {
    const req = request({ host: "127.0.0.1", port, path, headers: { host } }, (res) => {
      res
        .resume()
        .on("end", () => (res.statusCode === 200 ? resolve() : reject(new Error(`${url} ${res.statusCode}`))));
    });
    req.on("error", reject).end();
  });
}
