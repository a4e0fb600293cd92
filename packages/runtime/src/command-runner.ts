import { type ChildProcess, spawn } from "node:child_process";
import { closeSync } from "node:fs";
import type { Readable } from "node:stream";
import { LineSplitter } from "./line-splitter.ts";
import { signalGroup } from "./process-table.ts";

/** How long output may stay open after its command ended: a child that left the group can hold the pipe. */
const PIPE_GRACE_MS = 2_000;

export interface Command {
  file: string;
  args: readonly string[];
  env: Readonly<Record<string, string>>;
  cwd: string;
  /** Open file the child inherits as descriptor 3; closed here once the child has it. */
  argsFd?: number | undefined;
}

export interface CommandLimits {
  signal: AbortSignal;
  timeoutMs: number;
  onLine(stream: "stdout" | "stderr", text: string): void;
}

export interface CommandResult {
  exitCode: number | null;
  signal: string | null;
  timedOut: boolean;
}

/**
 * Runs a command in a process group of its own and reports its output line by line. Nothing of the group outlives the
 * call. Rejects with the signal's reason when aborted, and with the system's error when the command cannot start.
 */
export async function runCommand(command: Command, limits: CommandLimits): Promise<CommandResult> {
  let child: ChildProcess;
  try {
    limits.signal.throwIfAborted();
    child = spawn(command.file, [...command.args], {
      cwd: command.cwd,
      env: { ...command.env },
      detached: true,
      stdio: ["ignore", "pipe", "pipe", command.argsFd ?? "ignore"],
    });
  } finally {
    if (command.argsFd !== undefined) closeSync(command.argsFd);
  }
  const kill = () => {
    if (child.pid !== undefined) signalGroup(child.pid, "SIGKILL");
  };
  let timedOut = false;
  const timer = setTimeout(() => {
    timedOut = true;
    kill();
  }, limits.timeoutMs);
  limits.signal.addEventListener("abort", kill, { once: true });
  try {
    const outputs = [child.stdout, child.stderr].map((stream, index) =>
      followLines(stream, (text) => limits.onLine(index === 0 ? "stdout" : "stderr", text)),
    );
    const end = await ended(child);
    kill();
    await withinGrace(Promise.all(outputs), () => {
      child.stdout?.destroy();
      child.stderr?.destroy();
    });
    limits.signal.throwIfAborted();
    return { ...end, timedOut };
  } finally {
    clearTimeout(timer);
    limits.signal.removeEventListener("abort", kill);
  }
}

function ended(child: ChildProcess): Promise<{ exitCode: number | null; signal: string | null }> {
  return new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("exit", (exitCode, signal) => resolve({ exitCode, signal }));
  });
}

function followLines(stream: Readable | null, onLine: (text: string) => void): Promise<void> {
  if (stream === null) return Promise.resolve();
  const splitter = new LineSplitter();
  return new Promise((resolve) => {
    stream.on("data", (chunk: Buffer) => {
      for (const line of splitter.push(chunk)) onLine(line.text);
    });
    stream.on("error", () => stream.destroy());
    stream.once("close", () => {
      for (const line of splitter.flush(true)) onLine(line.text);
      resolve();
    });
  });
}

async function withinGrace(work: Promise<unknown>, giveUp: () => void): Promise<void> {
  const timer = setTimeout(giveUp, PIPE_GRACE_MS);
  await work;
  clearTimeout(timer);
}
