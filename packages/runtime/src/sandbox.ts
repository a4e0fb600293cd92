import { randomUUID } from "node:crypto";
import { closeSync, mkdirSync, openSync, rmSync, writeSync } from "node:fs";
import { access, mkdir, realpath } from "node:fs/promises";
import { join } from "node:path";
import { runCommand } from "./command-runner.ts";
import type { DataLayout } from "./data-layout.ts";

const TRIAL_MS = 10_000;
/** Of /etc only what programs need to resolve names, check certificates and find libraries. */
const ETC = [
  "alternatives",
  "ca-certificates",
  "gai.conf",
  "group",
  "host.conf",
  "hosts",
  "ld.so.cache",
  "ld.so.conf",
  "ld.so.conf.d",
  "localtime",
  "mime.types",
  "nsswitch.conf",
  "passwd",
  "protocols",
  "resolv.conf",
  "services",
  "ssl",
];
const SYSTEM_FOLDERS = ["/bin", "/lib", "/lib32", "/lib64", "/sbin"];
const UNPRIVILEGED = ["--unshare-user", "--uid", "65534", "--gid", "65534"];
const NO_CAPABILITIES = ["--cap-drop", "ALL"];

export interface SandboxedCommand {
  argv: readonly string[];
  env: Readonly<Record<string, string>>;
  cwd: string;
  /** Folders shown and writable. */
  writable: readonly string[];
  /** Folders shown besides the system's, read-only. */
  readable: readonly string[];
}

/** A command that enters a private root, and the file its options are read from (at the given descriptor of `bwrap`). */
export interface EnteringCommand {
  argv: string[];
  /** Open file; whoever starts the command closes it afterwards. */
  argsFd: number;
}

/**
 * Private roots made by `bwrap`. The command sees the system read-only, the folders it is given, a private /tmp, and only
 * its own processes; the network is shared. Its process group stays the caller's, so the group can be signalled from
 * outside, and it does not die with its parent, because releases outlive Quayside.
 */
export class Sandbox {
  readonly #layout: DataLayout;
  #identity: Promise<readonly string[] | null> | null = null;

  constructor(layout: DataLayout) {
    this.#layout = layout;
  }

  /** Tries a private root once and remembers the answer. */
  async canSandbox(): Promise<boolean> {
    return (await this.#workingIdentity()) !== null;
  }

  /** Prepares a command to run in a private root. Throws when this machine cannot make one. */
  async enter(command: SandboxedCommand, descriptor = 3): Promise<EnteringCommand> {
    const identity = await this.#workingIdentity();
    if (identity === null)
      throw new Error("this machine cannot give an app a private root (bwrap is missing or not allowed)");
    const options = [...identity, ...(await rootOptions(command))];
    return { argv: [...entry(descriptor), ...command.argv], argsFd: this.#optionsFile(options) };
  }

  #workingIdentity(): Promise<readonly string[] | null> {
    this.#identity ??= this.#tryIdentities();
    return this.#identity;
  }

  async #tryIdentities(): Promise<readonly string[] | null> {
    if (process.platform !== "linux") return null;
    for (const identity of [UNPRIVILEGED, NO_CAPABILITIES]) {
      if (await this.#works(identity)) return identity;
    }
    return null;
  }

  async #works(identity: readonly string[]): Promise<boolean> {
    const command = {
      argv: ["/bin/sh", "-c", "test ! -w /usr && : > /tmp/probe"],
      env: {},
      cwd: "/tmp",
      writable: [],
      readable: [],
    };
    try {
      const argsFd = this.#optionsFile([...identity, ...(await rootOptions(command))]);
      const [file = "bwrap", ...args] = [...entry(3), ...command.argv];
      const limits = { signal: AbortSignal.timeout(TRIAL_MS), timeoutMs: TRIAL_MS, onLine() {} };
      const result = await runCommand({ file, args, env: OUTER_ENV, cwd: "/", argsFd }, limits);
      return result.exitCode === 0;
    } catch {
      return false;
    }
  }

  /** Options go through an unlinked file: an argument list would show the owner's secrets to every user of the machine. */
  #optionsFile(options: readonly string[]): number {
    mkdirSync(this.#layout.dataDir, { recursive: true });
    const path = join(this.#layout.dataDir, `.options-${randomUUID()}`);
    const fd = openSync(path, "wx+", 0o600);
    try {
      rmSync(path);
      const content = Buffer.from(options.map((option) => `${option}\0`).join(""));
      // At an explicit position, so that the reader's own position stays at the beginning.
      for (let at = 0; at < content.length; ) at += writeSync(fd, content, at, content.length - at, at);
      return fd;
    } catch (error) {
      closeSync(fd);
      throw error;
    }
  }
}

function entry(descriptor: number): string[] {
  return ["bwrap", "--args", String(descriptor), "--"];
}

/** Environment outside the private root: none of the owner's values, which could load code into `bwrap` itself. */
export const OUTER_ENV: Readonly<Record<string, string>> = { PATH: "/usr/local/bin:/usr/bin:/bin", LANG: "C.UTF-8" };

async function rootOptions(command: SandboxedCommand): Promise<string[]> {
  const options = ["--unshare-pid", "--unshare-ipc", "--unshare-uts", "--hostname", "app", "--clearenv"];
  options.push("--ro-bind", "/usr", "/usr");
  for (const folder of SYSTEM_FOLDERS) {
    const real = await realpath(folder).catch(() => null);
    if (real === null) continue;
    if (real === folder) options.push("--ro-bind", folder, folder);
    else options.push("--symlink", real.slice(1), folder);
  }
  for (const name of ETC) {
    // The source may be a link out of /etc, which would lead nowhere inside.
    const real = await realpath(`/etc/${name}`).catch(() => null);
    if (real !== null) options.push("--ro-bind", real, `/etc/${name}`);
  }
  options.push("--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp");
  for (const folder of command.readable) {
    if (!folder.startsWith("/usr/") && (await exists(folder))) options.push("--ro-bind", folder, folder);
  }
  for (const folder of command.writable) {
    await mkdir(folder, { recursive: true });
    options.push("--bind", folder, folder);
  }
  options.push("--remount-ro", "/", "--chdir", command.cwd);
  for (const [name, value] of Object.entries(command.env)) options.push("--setenv", name, value);
  return options;
}

async function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}
