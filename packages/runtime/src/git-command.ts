import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type CommandResult, runCommand } from "./command-runner.ts";
import type { DataLayout } from "./data-layout.ts";

/** Lines of git's complaints that are kept for a message. */
const KEPT_LINES = 40;

// Nothing of the machine's own git settings applies: no hooks, no credential helpers, no helper programs, no redirects
// to an address that was not vetted. Local repositories may belong to another user. What is fetched is a cache that can
// be fetched again, so that no deployment waits for a busy disk.
const SETTINGS = `[safe]
	directory = *
[core]
	hooksPath = /dev/null
	fsync = none
	askPass =
[protocol "ext"]
	allow = never
[http]
	followRedirects = false
[gc]
	autoDetach = false
[maintenance]
	autoDetach = false
[submodule]
	recurse = false
[credential]
	helper =
[advice]
	detachedHead = false
`;

export interface GitRun {
  args: readonly string[];
  signal: AbortSignal;
  /** Time left for this command, in milliseconds. */
  timeoutMs: number;
  env?: Readonly<Record<string, string>> | undefined;
  /** Sees every line of the answer; without it the lines are returned. */
  onLine?: ((line: string) => void) | undefined;
}

export interface GitResult extends CommandResult {
  stdout: string[];
  stderr: string[];
}

/** Git with settings of its own and no way to ask a person for anything. */
export class GitCommand {
  readonly #layout: DataLayout;
  #settings: Promise<string> | null = null;

  constructor(layout: DataLayout) {
    this.#layout = layout;
  }

  /** Runs git with an argument array, never through a shell. Rejects only when git is missing or the call is aborted. */
  async run(run: GitRun): Promise<GitResult> {
    this.#settings ??= this.#writeSettings();
    const settings = await this.#settings;
    const stdout: string[] = [];
    const stderr: string[] = [];
    const command = {
      file: "git",
      args: run.args,
      cwd: this.#layout.gitDirectory,
      env: { ...this.#environment(settings), ...run.env },
    };
    const result = await runCommand(command, {
      signal: run.signal,
      timeoutMs: run.timeoutMs,
      onLine(stream, text) {
        if (stream === "stderr") {
          stderr.push(text);
          if (stderr.length > KEPT_LINES) stderr.shift();
        } else if (run.onLine === undefined) stdout.push(text);
        else run.onLine(text);
      },
    });
    return { ...result, stdout, stderr };
  }

  #environment(settings: string): Record<string, string> {
    return {
      PATH: process.env.PATH ?? "/usr/local/bin:/usr/bin:/bin",
      HOME: this.#layout.gitDirectory,
      // Messages are recognised by their text.
      LC_ALL: "C",
      GIT_TERMINAL_PROMPT: "0",
      GIT_CONFIG_NOSYSTEM: "1",
      GIT_CONFIG_GLOBAL: settings,
      GIT_ALLOW_PROTOCOL: "https:http:ssh:git:file",
      GIT_SSH_COMMAND: sshCommand(""),
      GIT_LFS_SKIP_SMUDGE: "1",
    };
  }

  async #writeSettings(): Promise<string> {
    await mkdir(this.#layout.gitDirectory, { recursive: true });
    const path = join(this.#layout.gitDirectory, "gitconfig");
    await writeFile(path, SETTINGS, { mode: 0o600 });
    return path;
  }
}

/** SSH that never asks. Git hands this to a shell, so `more` must hold nothing but vetted words. */
export function sshCommand(more: string): string {
  return `ssh -oBatchMode=yes -oStrictHostKeyChecking=accept-new -oConnectTimeout=20${more}`;
}
