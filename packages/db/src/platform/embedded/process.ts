import { readFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { runCommand } from "./command.ts";
import { errorCode, unless } from "./errors.ts";

/** A running process whose start time cannot be seen: known to be alive, not known to be the same one. */
const UNKNOWN = "unknown";

/** What postmaster.pid says about a server that is, or was, running on a cluster. */
export interface Postmaster {
  pid: number;
  port: number;
  status: "starting" | "ready" | "stopping" | "other";
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return errorCode(error) === "EPERM";
  }
}

/**
 * A short text that stays the same while the process lives and differs for a later process with the same number:
 * its start time. Letters, digits and dashes only.
 * @returns null when no such process runs (a zombie does not run).
 */
export async function processIdentity(pid: number): Promise<string | null> {
  if (!isAlive(pid)) return null;
  if (process.platform === "win32") return UNKNOWN;
  if (process.platform === "linux") {
    const text = await unless(readFile(`/proc/${pid}/stat`, "utf8"), "ENOENT", "ESRCH", "EACCES", "EPERM");
    if (text === null) return isAlive(pid) ? UNKNOWN : null;
    // The program's name, in brackets, may itself hold spaces and brackets.
    const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
    return fields[0] === "Z" || fields[0] === "X" ? null : (fields[19] ?? UNKNOWN);
  }
  const started = await runCommand("ps", ["-o", "stat=,lstart=", "-p", String(pid)]);
  const text = started.stdout.trim();
  if (started.code !== 0 || text === "" || text.startsWith("Z")) return null;
  return text.replace(/^\S+\s+/, "").replace(/\W+/g, "-");
}

/** Whether the process that had this identity still runs. */
export async function stillRuns(pid: number, identity: string): Promise<boolean> {
  const current = await processIdentity(pid);
  return current !== null && (current === identity || current === UNKNOWN || identity === UNKNOWN);
}

/** Whether the process is a postmaster on this cluster, and not some program that got its number later. */
export async function isPostmasterOf(pid: number, cluster: string): Promise<boolean> {
  if (!isAlive(pid)) return false;
  if (process.platform === "linux") {
    const line = await unless(readFile(`/proc/${pid}/cmdline`, "utf8"), "ENOENT", "ESRCH", "EACCES", "EPERM");
    const args = (line ?? "").split("\0");
    return basename(args[0] ?? "") === "postgres" && args.includes(cluster);
  }
  if (process.platform === "win32") {
    const listed = await runCommand("tasklist", ["/FI", `PID eq ${pid}`, "/FO", "CSV", "/NH"]);
    return listed.stdout.toLowerCase().includes('"postgres.exe"');
  }
  const listed = await runCommand("ps", ["-ww", "-o", "command=", "-p", String(pid)]);
  return listed.stdout.includes("postgres") && listed.stdout.includes(` ${cluster} `);
}

/** Reads postmaster.pid; null when it is missing or not written to the end yet. Says nothing about being alive. */
export async function readPostmaster(cluster: string): Promise<Postmaster | null> {
  const text = await unless(readFile(join(cluster, "postmaster.pid"), "utf8"), "ENOENT", "EBUSY");
  const lines = (text ?? "").split("\n").map((line) => line.trim());
  const pid = Number(lines[0]);
  const port = Number(lines[3]);
  if (!Number.isInteger(pid) || !Number.isInteger(port) || pid <= 0 || port <= 0) return null;
  const status = lines[7];
  const known = status === "starting" || status === "ready" || status === "stopping";
  return { pid, port, status: known ? status : "other" };
}

/** The server that runs on the cluster now, or null. */
export async function findRunning(cluster: string): Promise<Postmaster | null> {
  const written = await readPostmaster(cluster);
  return written && (await isPostmasterOf(written.pid, cluster)) ? written : null;
}
