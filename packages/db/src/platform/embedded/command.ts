import { spawn } from "node:child_process";
import type { OsUser } from "./os-user.ts";

/** What a finished command said; `code` is null when it was ended by a signal or could not be started. */
export interface CommandResult {
  code: number | null;
  stdout: string;
  /** Standard error, or the reason why the program could not be started. */
  stderr: string;
}

export type RunCommand = (file: string, args: string[]) => Promise<CommandResult>;

/**
 * The environment of every PostgreSQL program: nothing of ours but the search path. PG* variables would change
 * its behaviour, and a secret in our environment is no business of a process that outlives us.
 */
export function programEnvironment(): NodeJS.ProcessEnv {
  const kept = ["PATH", "SystemRoot", "TEMP", "TMP"];
  const inherited = kept.flatMap((name) => (process.env[name] === undefined ? [] : [[name, process.env[name]]]));
  return { ...Object.fromEntries(inherited), LC_ALL: "C" };
}

/**
 * Runs a program to its end, never rejecting.
 * @param options user: the account to run under (null: our own); cwd: a folder that account can enter.
 */
export function runCommand(
  file: string,
  args: string[],
  options: { user?: OsUser | null; cwd?: string } = {},
): Promise<CommandResult> {
  const { user, cwd } = options;
  return new Promise((resolve) => {
    const child = spawn(file, args, {
      stdio: ["ignore", "pipe", "pipe"],
      env: programEnvironment(),
      windowsHide: true,
      ...(cwd === undefined ? {} : { cwd }),
      ...(user ? { uid: user.uid, gid: user.gid } : {}),
    });
    let stdout = "";
    let stderr = "";
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      stdout += text;
    });
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      stderr += text;
    });
    child.once("error", (error) => resolve({ code: null, stdout, stderr: error.message }));
    child.once("close", (code) => resolve({ code, stdout, stderr }));
  });
}
