import { spawn } from "node:child_process";
import { open, rm } from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { programEnvironment, runCommand } from "./command.ts";
import { EmbeddedPostgresError, errorCode } from "./errors.ts";
import { type Installation, programPath } from "./installation.ts";
import type { Place } from "./location.ts";
import { fileSize, putAsideLargeLog, readFrom } from "./log.ts";
import { findRunning, isPostmasterOf, type Postmaster, processIdentity, readPostmaster } from "./process.ts";

const PORT_ATTEMPTS = 5;
const POLL_MS = 10;
/** Covers the recovery after a crash. */
const READY_MS = 120_000;
/** How long leftover backends of a killed server may take to notice and end. */
const LEFTOVERS_MS = 10_000;
const FAST_STOP_MS = 20_000;
const QUICK_STOP_MS = 10_000;

export interface ServerOptions {
  installation: Installation;
  place: Place;
  fsync: boolean;
  /** Gives the port for each attempt; a test can give a taken one. */
  pickPort?: () => Promise<number>;
}

/** A server this process started. */
export interface LaunchedServer extends Postmaster {
  /** Where its output begins in the log, in bytes. */
  logStart: number;
}

/** The file a location's server writes its output to. */
export function logFile(place: Place): string {
  return join(place.location, "postgres.log");
}

/** A loopback port that is free at this moment. */
export function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const probe = createServer();
    probe.once("error", reject);
    probe.listen(0, "127.0.0.1", () => {
      const address = probe.address();
      const port = typeof address === "object" && address ? address.port : 0;
      probe.close(() => resolve(port));
    });
  });
}

/**
 * Starts a server on an existing cluster that none runs on, and waits until it accepts connections. It survives the
 * death of this process. Only under the start lock.
 * @throws EmbeddedPostgresError with the end of the server's output when it does not start.
 */
export async function launchServer(options: ServerOptions): Promise<LaunchedServer> {
  const { place, pickPort = freePort } = options;
  await removeMisleadingPidFile(place.cluster);
  await putAsideLargeLog(logFile(place));
  const deadline = Date.now() + LEFTOVERS_MS;
  let taken = 0;
  for (;;) {
    const attempt = await launchOnce(options, await pickPort());
    if (typeof attempt !== "string") return attempt;
    const portTaken = attempt.includes("Address already in use") || attempt.includes("could not bind");
    if (portTaken && ++taken < PORT_ATTEMPTS) continue;
    if (attempt.includes("pre-existing shared memory block") && Date.now() < deadline) {
      await sleep(100);
      continue;
    }
    if (attempt.includes('lock file "postmaster.pid" already exists') && Date.now() < deadline) {
      // A start that was killed this very moment had launched a server that had not written its file yet.
      const other = await findRunning(place.cluster);
      if (other?.status === "ready") return { ...other, logStart: await fileSize(logFile(place)) };
      await sleep(100);
      continue;
    }
    const end = attempt.trim().split("\n").slice(-8).join("\n");
    throw new EmbeddedPostgresError(`PostgreSQL did not start on ${place.cluster}: ${end || "it gave no reason"}`);
  }
}

/**
 * PostgreSQL refuses to start while the process named in postmaster.pid runs, even when that number belongs to
 * another program by now. Called when no server was found on the cluster; a server that was overlooked still holds
 * the cluster's shared memory, which PostgreSQL checks on its own.
 */
async function removeMisleadingPidFile(cluster: string): Promise<void> {
  const written = await readPostmaster(cluster);
  if (!written || (await isPostmasterOf(written.pid, cluster))) return;
  if ((await processIdentity(written.pid)) !== null) await rm(join(cluster, "postmaster.pid"), { force: true });
}

function serverArguments(cluster: string, port: number, fsync: boolean): string[] {
  const settings = {
    port,
    listen_addresses: "127.0.0.1",
    unix_socket_directories: "",
    max_connections: 200,
    shared_buffers: "64MB",
    timezone: "UTC",
    log_timezone: "UTC",
    log_checkpoints: "off",
    logging_collector: "off",
    ...(fsync ? {} : { fsync: "off", synchronous_commit: "off", full_page_writes: "off" }),
  };
  return ["-D", cluster, ...Object.entries(settings).flatMap(([name, value]) => ["-c", `${name}=${value}`])];
}

/** One attempt: the running server, or what it wrote before it ended. */
async function launchOnce(options: ServerOptions, port: number): Promise<LaunchedServer | string> {
  const { installation, place, fsync } = options;
  const log = logFile(place);
  const before = await fileSize(log);
  const output = await open(log, "a", 0o600);
  // The database user owns its log, so that it can still write when root is not the one who starts it.
  if (place.user) await output.chown(place.user.uid, place.user.gid);
  let ended: string | null = null;
  const child = spawn(programPath(installation, "postgres"), serverArguments(place.cluster, port, fsync), {
    // Its own session: Ctrl+C in our terminal must reach us only, who then stop the server in order.
    detached: true,
    stdio: ["ignore", output.fd, output.fd],
    env: programEnvironment(),
    cwd: place.location,
    windowsHide: true,
    ...(place.user ? { uid: place.user.uid, gid: place.user.gid } : {}),
  });
  child.once("error", (error) => {
    ended = error.message;
  });
  child.once("exit", () => {
    ended ??= "";
  });
  child.unref();
  const deadline = Date.now() + READY_MS;
  try {
    while (ended === null) {
      const written = await readPostmaster(place.cluster);
      if (written && written.pid === child.pid && written.status === "ready") return { ...written, logStart: before };
      if (Date.now() > deadline) {
        if (child.pid !== undefined) await stopServer(options, child.pid);
        return `it was not ready within ${READY_MS / 1000} seconds`;
      }
      await sleep(POLL_MS);
    }
  } finally {
    await output.close();
  }
  return `${ended}\n${await readFrom(log, before)}`;
}

/**
 * Stops a server: in order with a bound of 20 s, then at once (the next start recovers). A server that is gone
 * already is fine.
 */
export async function stopServer(options: { installation: Installation; place: Place }, pid: number): Promise<void> {
  const { cluster } = options.place;
  if (!(await isPostmasterOf(pid, cluster))) return;
  await signal(options.installation, pid, "INT");
  if (await waitUntilGone(pid, cluster, FAST_STOP_MS)) return;
  await signal(options.installation, pid, "QUIT");
  if (await waitUntilGone(pid, cluster, QUICK_STOP_MS)) return;
  throw new EmbeddedPostgresError(`PostgreSQL (process ${pid}) on ${cluster} does not stop.`);
}

async function signal(installation: Installation, pid: number, name: "INT" | "QUIT"): Promise<void> {
  // Windows has no signals; PostgreSQL brings its own way to deliver them.
  if (process.platform === "win32") {
    await runCommand(programPath(installation, "pg_ctl"), ["kill", name, String(pid)]);
    return;
  }
  try {
    process.kill(pid, `SIG${name}`);
  } catch (error) {
    if (errorCode(error) !== "ESRCH") throw error;
  }
}

async function waitUntilGone(pid: number, cluster: string, boundMs: number): Promise<boolean> {
  const deadline = Date.now() + boundMs;
  while (await isPostmasterOf(pid, cluster)) {
    if (Date.now() > deadline) return false;
    await sleep(POLL_MS);
  }
  return true;
}
