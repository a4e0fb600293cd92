import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { errorCode } from "./wait.ts";

const LINUX = process.platform === "linux";

interface ProcessEntry {
  state: string;
  group: number;
  startToken: string;
}

/** Identifies the process that has this pid now, dead but unreaped ones included. Null: there is none. */
export function readStartToken(pid: number): string | null {
  return readEntry(pid)?.startToken ?? null;
}

/** True while the very process is running. A zombie counts as dead. */
export function isAlive(pid: number, startToken: string): boolean {
  const entry = readEntry(pid);
  return entry !== null && entry.startToken === startToken && !isDeadState(entry.state);
}

/** Sends a signal to a process group. False when the group is gone. */
export function signalGroup(group: number, signal: NodeJS.Signals | 0): boolean {
  // Group 1 and below would address every process of the machine.
  if (!Number.isInteger(group) || group <= 1) throw new RangeError("not a process group");
  try {
    process.kill(-group, signal);
    return true;
  } catch (error) {
    const code = errorCode(error);
    if (code === "ESRCH") return false;
    // EPERM also means that members exist; macOS answers it for a group of zombies.
    if (code === "EPERM") return LINUX;
    throw error;
  }
}

/** True while a living process belongs to the group; zombies that nobody has reaped do not count. */
export function groupHasLiving(group: number): boolean {
  if (!signalGroup(group, 0)) return false;
  if (!LINUX) return true;
  return readdirSync("/proc").some((name) => {
    if (!/^\d+$/.test(name)) return false;
    const entry = readEntry(Number(name));
    return entry !== null && entry.group === group && !isDeadState(entry.state);
  });
}

function isDeadState(state: string): boolean {
  return state === "Z" || state === "X" || state === "x";
}

function readEntry(pid: number): ProcessEntry | null {
  if (!Number.isInteger(pid) || pid <= 0) return null;
  return LINUX ? readProc(pid) : readPs(pid);
}

let bootId: string | undefined;

function readProc(pid: number): ProcessEntry | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
    // The second field is the program's name in parentheses and may itself contain spaces and parentheses.
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    bootId ??= readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim();
    return { state: fields[0] ?? "X", group: Number(fields[2]), startToken: `${bootId}:${fields[19] ?? ""}` };
  } catch (error) {
    const code = errorCode(error);
    if (code === "ENOENT" || code === "ESRCH") return null;
    throw error;
  }
}

function readPs(pid: number): ProcessEntry | null {
  try {
    const env = { PATH: "/usr/bin:/bin", LC_ALL: "C", TZ: "UTC" };
    const out = execFileSync("ps", ["-o", "stat=,pgid=,lstart=", "-p", String(pid)], { encoding: "utf8", env });
    const [state = "X", group = "0", ...started] = out.trim().split(/\s+/);
    return { state: state.charAt(0), group: Number(group), startToken: started.join(" ") };
  } catch {
    return null;
  }
}
