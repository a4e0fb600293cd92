import { type ChildProcess, spawn } from "node:child_process";
import { closeSync, openSync } from "node:fs";
import { mkdir, readFile, rm } from "node:fs/promises";
import { constants } from "node:os";
import { join } from "node:path";
import {
  type ProcessIdentity,
  type ProcessState,
  type RunningProcess,
  type StartRequest,
  type StepContext,
  StepFailure,
} from "@quayside/contracts";
import { childEnv } from "./child-env.ts";
import type { DataLayout } from "./data-layout.ts";
import { freePort } from "./free-port.ts";
import { resolveRoot } from "./package-plan.ts";
import { groupHasLiving, isAlive, readStartToken, signalGroup } from "./process-table.ts";
import { INNER_SCRIPT, OUTER_SCRIPT } from "./release-wrapper.ts";
import { OUTER_ENV, type Sandbox } from "./sandbox.ts";
import { stopStrays } from "./stray-processes.ts";
import type { Toolchain } from "./toolchain.ts";
import { pause } from "./wait.ts";

const POLL_MS = 50;
/** Where the options of a private root come in; the scripts around an app use 3 to 5 for themselves. */
const OPTIONS_FD = 6;
/** After SIGKILL a process can only be held by the kernel; then waiting longer does not help. */
const KILL_LIMIT_MS = 10_000;

export interface ProcessesOptions {
  layout: DataLayout;
  sandbox: Sandbox;
  toolchain(): Promise<Toolchain>;
}

interface PreparedCommand {
  argv: string[];
  env: Readonly<Record<string, string>>;
  cwd: string;
  argsFd: number | null;
}

/** Starts, finds and stops the processes of releases. Works the same for processes started by an earlier Quayside. */
export class LocalProcesses {
  readonly #options: ProcessesOptions;

  constructor(options: ProcessesOptions) {
    this.#options = options;
  }

  /** Starts an app detached, its output appended to the release's files. Throws StepFailure `start`. */
  async start(request: StartRequest, step: StepContext): Promise<RunningProcess> {
    step.signal.throwIfAborted();
    const { layout } = this.#options;
    await mkdir(layout.releaseLogs(request.releaseId), { recursive: true });
    await rm(layout.exitFile(request.releaseId), { force: true });
    const port = await freePort();
    const prepared = await this.#prepare(request, port);
    const child = spawnDetached(layout, request.releaseId, prepared);
    await started(child);
    const pid = child.pid;
    const startToken = pid === undefined ? null : readStartToken(pid);
    if (pid === undefined || startToken === null) throw new StepFailure("start", "the app could not be started");
    if (step.signal.aborted) {
      await this.stop({ pid, startToken }, 0);
      step.signal.throwIfAborted();
    }
    step.log({ at: new Date(), stream: "system", line: `Started \`${request.command}\` with PORT=${port}` });
    return { pid, startToken, port };
  }

  async state(releaseId: string, identity: ProcessIdentity): Promise<ProcessState> {
    if (isAlive(identity.pid, identity.startToken)) return { running: true };
    const text = await readFile(this.#options.layout.exitFile(releaseId), "utf8").catch(() => "");
    if (!/^\d{1,3}$/.test(text)) return { running: false, exitCode: null, signal: null };
    return { running: false, ...readStatus(Number(text)) };
  }

  async waitForExit(releaseId: string, identity: ProcessIdentity, signal: AbortSignal): Promise<ProcessState> {
    for (;;) {
      signal.throwIfAborted();
      const state = await this.state(releaseId, identity);
      if (!state.running) return state;
      await pause(POLL_MS, signal);
    }
  }

  /**
   * Ends the whole group: SIGTERM, and SIGKILL after `graceMs`. Does nothing when the pid belongs to another process by
   * now. Rejects when the kernel does not let go of the group.
   */
  async stop(identity: ProcessIdentity, graceMs: number): Promise<void> {
    if (readStartToken(identity.pid) !== identity.startToken) return;
    if (graceMs > 0) {
      signalGroup(identity.pid, "SIGTERM");
      if (await groupEnded(identity.pid, graceMs)) return;
    }
    signalGroup(identity.pid, "SIGKILL");
    if (await groupEnded(identity.pid, KILL_LIMIT_MS)) return;
    throw new Error(`process group ${identity.pid} is still there after SIGKILL`);
  }

  /** Ends processes of a release that nobody knows by pid, such as those of a start that was never recorded. */
  async stopStrays(releaseId: string): Promise<void> {
    const { layout } = this.#options;
    await stopStrays(layout.markOf(layout.releaseApp(releaseId)));
  }

  async #prepare(request: StartRequest, port: number): Promise<PreparedCommand> {
    const { layout, sandbox } = this.#options;
    const cwd = await resolveRoot(request.directory, request.settings.root).catch((error: unknown) => {
      throw new StepFailure("start", error instanceof Error ? error.message : "the release has no files");
    });
    const toolchain = await this.#options.toolchain();
    const home = await layout.homeOf(request.directory);
    await mkdir(home, { recursive: true });
    const mark = layout.markOf(layout.releaseApp(request.releaseId));
    const env = appEnv(request, port, { cwd, home, mark }, toolchain);
    const argv = ["/bin/sh", "-c", INNER_SCRIPT, "sh", request.command];
    if (!request.sandboxed) return { argv, env, cwd, argsFd: null };
    if (!(await sandbox.canSandbox())) {
      throw new StepFailure(
        "start",
        "this machine cannot give the app a private root (bwrap is missing or not allowed)",
      );
    }
    const writable = [request.directory, home];
    const entering = await sandbox.enter({ argv, env, cwd, writable, readable: toolchain.folders }, OPTIONS_FD);
    return { argv: entering.argv, env: { ...OUTER_ENV, ...mark }, cwd: "/", argsFd: entering.argsFd };
  }
}

function appEnv(
  request: StartRequest,
  port: number,
  place: { cwd: string; home: string; mark: Readonly<Record<string, string>> },
  toolchain: Toolchain,
) {
  const { cwd, home, mark } = place;
  try {
    return childEnv({
      path: [join(cwd, "node_modules", ".bin"), ...toolchain.path],
      home,
      sandboxed: request.sandboxed,
      defaults: { NODE_ENV: "production" },
      owner: request.env,
      fixed: { PORT: String(port), HOST: "127.0.0.1", ...mark },
    });
  } catch (error) {
    throw new StepFailure("start", error instanceof Error ? error.message : "the environment cannot be set");
  }
}

function spawnDetached(layout: DataLayout, releaseId: string, prepared: PreparedCommand): ChildProcess {
  const open: number[] = prepared.argsFd === null ? [] : [prepared.argsFd];
  try {
    const [stdout, stderr] = (["stdout", "stderr"] as const).map((name) => {
      const fd = openSync(join(layout.releaseLogs(releaseId), `${name}.log`), "a", 0o600);
      open.push(fd);
      return fd;
    });
    return spawn("/bin/sh", ["-c", OUTER_SCRIPT, "sh", layout.exitFile(releaseId), ...prepared.argv], {
      cwd: prepared.cwd,
      env: { ...prepared.env },
      detached: true,
      stdio: ["ignore", stdout, stderr, "ignore", "ignore", "ignore", prepared.argsFd ?? "ignore"],
    });
  } finally {
    for (const fd of open) closeSync(fd);
  }
}

/** Resolves once the process exists. Its end is found by polling, so nothing else listens. */
function started(child: ChildProcess): Promise<void> {
  return new Promise((resolve, reject) => {
    child.once("spawn", resolve);
    child.once("error", (error) => reject(new StepFailure("start", `the app could not be started: ${error.message}`)));
    child.unref();
  });
}

/** Shells report the end by signal N as 128 + N. */
function readStatus(status: number): { exitCode: number | null; signal: string | null } {
  const signal = Object.entries(constants.signals).find(([, number]) => number === status - 128)?.[0];
  return signal === undefined ? { exitCode: status, signal: null } : { exitCode: null, signal };
}

async function groupEnded(group: number, limitMs: number): Promise<boolean> {
  const deadline = performance.now() + limitMs;
  for (let wait = 5; groupHasLiving(group); wait = Math.min(wait * 2, POLL_MS)) {
    const left = deadline - performance.now();
    if (left <= 0) return false;
    await pause(Math.min(wait, left));
  }
  return true;
}
