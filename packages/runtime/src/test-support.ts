import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { LogLine, ProcessIdentity, RunningProcess, Runtime, StepContext } from "@quayside/contracts";
import { onTestFinished } from "vitest";
import { createLocalRuntime } from "./local-runtime.ts";
import type { LocalRuntimeOptions } from "./options.ts";

/** A folder that is removed when the test ends. */
export function temporaryFolder(): string {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "quayside-runtime-")));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }));
  return folder;
}

export interface RecordingStep extends StepContext {
  lines: LogLine[];
  abort: AbortController;
  /** All lines of a stream as one text. */
  text(stream?: LogLine["stream"]): string;
}

export function recordingStep(): RecordingStep {
  const abort = new AbortController();
  const lines: LogLine[] = [];
  return {
    abort,
    signal: abort.signal,
    lines,
    log: (line) => void lines.push(line),
    text: (stream) =>
      lines
        .filter((line) => stream === undefined || line.stream === stream)
        .map(({ line }) => line)
        .join("\n"),
  };
}

export interface TestRuntime {
  runtime: Runtime;
  dataDir: string;
  warnings: string[];
}

export function testRuntime(more: Partial<LocalRuntimeOptions> = {}): TestRuntime {
  const dataDir = more.dataDir ?? temporaryFolder();
  const warnings: string[] = [];
  const runtime = createLocalRuntime({
    proxyHost: "127.0.0.1",
    proxyPort: 0,
    gitLocalRoots: null,
    allowPrivateNetworks: true,
    health: { intervalMs: 20, passes: 2, bakeMs: 60 },
    onWarning: (message) => void warnings.push(message),
    ...more,
    dataDir,
  });
  return { runtime, dataDir, warnings };
}

/** Waits on a condition; fails with `what` after the limit. */
export async function until<T>(what: string, probe: () => T | Promise<T>, limitMs = 10_000): Promise<NonNullable<T>> {
  const deadline = performance.now() + limitMs;
  for (;;) {
    const value = await probe();
    if (value !== undefined && value !== null && value !== false) return value;
    if (performance.now() > deadline) throw new Error(`waited ${limitMs} ms in vain until ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

export function writeFiles(folder: string, files: Readonly<Record<string, string>>): void {
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), content);
  }
}

/** A git repository made for a test. */
export class TestRepo {
  readonly path: string;

  constructor() {
    this.path = temporaryFolder();
    this.git("init", "--quiet", "--initial-branch=main");
  }

  git(...args: string[]): string {
    const author = {
      GIT_AUTHOR_NAME: "T",
      GIT_AUTHOR_EMAIL: "t@t",
      GIT_COMMITTER_NAME: "T",
      GIT_COMMITTER_EMAIL: "t@t",
    };
    const env = {
      ...author,
      PATH: process.env.PATH ?? "",
      GIT_CONFIG_GLOBAL: "/dev/null",
      GIT_CONFIG_NOSYSTEM: "1",
    };
    return execFileSync("git", args, {
      cwd: this.path,
      env,
      encoding: "utf8",
      stdio: ["ignore", "pipe", "pipe"],
      maxBuffer: 2 ** 26,
    }).trim();
  }

  /** Commits files on the current branch; answers the commit's SHA. */
  commit(files: Readonly<Record<string, string>>, message = "change"): string {
    writeFiles(this.path, files);
    this.git("add", "--all");
    this.git("commit", "--quiet", "--allow-empty", "-m", message);
    return this.git("rev-parse", "HEAD");
  }
}

/** Ends a release when the test ends, however the test goes. */
export function stopAtEnd(runtime: Runtime, identity: ProcessIdentity): void {
  onTestFinished(() => runtime.stopRelease(identity, 0));
}

let releases = 0;

/** Writes files as a release and starts a command in them. */
export async function startFiles(
  { runtime }: TestRuntime,
  files: Readonly<Record<string, string>>,
  command: string,
  more: { releaseId?: string; sandboxed?: boolean; env?: Record<string, string> } = {},
): Promise<RunningProcess & { releaseId: string }> {
  releases += 1;
  const releaseId = more.releaseId ?? `rel_${process.pid}_${releases}`;
  const directory = runtime.releaseDirectory(releaseId);
  mkdirSync(directory, { recursive: true });
  writeFiles(directory, files);
  const request = {
    directory,
    settings: {},
    env: more.env ?? {},
    sandboxed: more.sandboxed ?? false,
    releaseId,
    command,
  };
  const running = await runtime.startRelease(request, recordingStep());
  stopAtEnd(runtime, running);
  return { ...running, releaseId };
}

/** An app that answers its environment and ends with code 0 on SIGTERM. */
export const ECHO_APP = `
const http = require("node:http");
const server = http.createServer((req, res) => res.end(JSON.stringify({ env: process.env, cwd: process.cwd(), pid: process.pid })));
server.listen(Number(process.env.PORT), process.env.HOST, () => console.log("listening"));
process.on("SIGTERM", () => { console.log("ending"); server.close(() => process.exit(0)); server.closeIdleConnections(); });
`;
