import { readdirSync, readFileSync } from "node:fs";
import { isAlive, readStartToken } from "./process-table.ts";
import { pause } from "./wait.ts";

const LIMIT_MS = 10_000;
const POLL_MS = 20;

/**
 * Ends every process that carries the mark, at once and without grace. Rejects when the kernel does not let go of one.
 * Needs /proc: elsewhere it finds nothing.
 */
export async function stopStrays(mark: Readonly<Record<string, string>>): Promise<void> {
  const deadline = performance.now() + LIMIT_MS;
  for (;;) {
    const strays = findMarked(mark);
    if (strays.length === 0) return;
    if (performance.now() > deadline) throw new Error(`${strays.length} processes are still there after SIGKILL`);
    for (const pid of strays) kill(pid);
    await pause(POLL_MS);
  }
}

function findMarked(mark: Readonly<Record<string, string>>): number[] {
  if (process.platform !== "linux") return [];
  const wanted = Object.entries(mark).map(([name, value]) => `\0${name}=${value}\0`);
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)
    .map(Number)
    .filter((pid) => {
      const token = readStartToken(pid);
      if (token === null || !isAlive(pid, token)) return false;
      const environment = readEnvironment(pid);
      return wanted.every((entry) => environment.includes(entry));
    });
}

/** Empty for a process that is gone or belongs to another user. */
function readEnvironment(pid: number): string {
  try {
    return `\0${readFileSync(`/proc/${pid}/environ`, "utf8")}`;
  } catch {
    return "";
  }
}

function kill(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // It ended by itself meanwhile.
  }
}
