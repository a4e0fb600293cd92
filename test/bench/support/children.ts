import { type ChildProcess, fork, spawn } from "node:child_process";
import { once } from "node:events";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

export const ROOT = join(dirname(fileURLToPath(import.meta.url)), "../../..");
/** What Quayside is started with; the bare handlers get the same. */
export const NODE_OPTIONS = ["--max-semi-space-size=16"];

const STOP_LIMIT_MS = 30_000;
const ERROR_TAIL = 4_000;
/** Only what was started here is ever ended here. */
const living = new Set<Child>();

export class Child {
  readonly process: ChildProcess;
  readonly #name: string;
  #errors = "";

  constructor(name: string, process: ChildProcess) {
    this.#name = name;
    this.process = process;
    living.add(this);
    process.once("exit", () => living.delete(this));
    process.on("error", (error) => {
      this.#errors += error.message;
    });
    process.stderr?.setEncoding("utf8").on("data", (text: string) => {
      this.#errors = (this.#errors + text).slice(-ERROR_TAIL);
    });
  }

  get pid(): number {
    if (this.process.pid === undefined) throw this.failure("could not be started");
    return this.process.pid;
  }

  get ended(): boolean {
    return this.process.exitCode !== null || this.process.signalCode !== null;
  }

  failure(what: string): Error {
    return new Error(`${this.#name} ${what}.${this.#errors === "" ? "" : `\n${this.#errors.trim()}`}`);
  }

  /** The next message; rejects when the child ends instead. */
  receive<T>(): Promise<T> {
    return new Promise((resolve, reject) => {
      const heard = (message: unknown) => {
        this.process.off("exit", gone);
        resolve(message as T);
      };
      const gone = () => {
        this.process.off("message", heard);
        reject(this.failure("ended too early"));
      };
      this.process.once("message", heard).once("exit", gone);
      if (this.ended) gone();
    });
  }

  ask<T>(question: object): Promise<T> {
    const answer = this.receive<T>();
    this.process.send(question);
    return answer;
  }

  async stop(): Promise<void> {
    if (this.ended || this.process.pid === undefined) return;
    const ended = once(this.process, "exit");
    this.process.kill("SIGTERM");
    const timer = setTimeout(() => this.process.kill("SIGKILL"), STOP_LIMIT_MS);
    await ended;
    clearTimeout(timer);
  }
}

/** A program of its own, with the given environment alone. Its standard output goes nowhere. */
export function startProgram(name: string, args: string[], env: Record<string, string>): Child {
  const stdio: ["ignore", "ignore", "pipe"] = ["ignore", "ignore", "pipe"];
  return new Child(name, spawn(process.execPath, args, { cwd: ROOT, env: { ...shellEnv(), ...env }, stdio }));
}

/** A helper process that talks with this one by messages. */
export function startHelper(file: string, env: Record<string, string> = {}): Child {
  const path = join(ROOT, "test/bench", file);
  const options = { cwd: ROOT, env: { ...shellEnv(), ...env }, execArgv: NODE_OPTIONS };
  return new Child(file, fork(path, { ...options, stdio: ["ignore", "ignore", "pipe", "ipc"] }));
}

export async function stopAllChildren(): Promise<void> {
  await Promise.all([...living].map((child) => child.stop()));
}

/** What programs need; settings of Quayside in the caller's shell stay out. */
function shellEnv(): Record<string, string> {
  const names = ["PATH", "HOME", "USER", "LANG", "TMPDIR"];
  return Object.fromEntries(
    names.flatMap((name) => (process.env[name] === undefined ? [] : [[name, process.env[name]]])),
  );
}
