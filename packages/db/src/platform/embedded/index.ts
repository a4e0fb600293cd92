import { join, resolve } from "node:path";
import { ensureCluster } from "./cluster.ts";
import { ensureDatabase, settledServer } from "./connect.ts";
import { type Installation, locateInstallation, usableInstallation } from "./installation.ts";
import { choosePlace, createDataFolder, type Place, SYSTEM_FOLDER } from "./location.ts";
import { withLock } from "./lock.ts";
import { fileSize, followLog, type LogFollower } from "./log.ts";
import { dropOwnership, hasLivingOwner, takeOwnership } from "./owner.ts";
import { findRunning, type Postmaster } from "./process.ts";
import { launchServer, logFile, stopServer } from "./server.ts";

export interface EmbeddedPostgresOptions {
  /** Folder for the database alone; created when missing. Relative paths count from the working directory. */
  dataDir: string;
  /** The superuser's password, hexadecimal, kept by the caller: a cluster only opens with the one it was made with. */
  password: string;
  /** Receives each line of PostgreSQL's output, from the process that owns the server, up to 250 ms late. */
  onLog(line: string): void;
  /** False trades durability for speed: for tests only. Default true. */
  fsync?: boolean;
}

export interface EmbeddedPostgres {
  /** Connection string of the database "quayside" as its superuser, on 127.0.0.1. */
  url: string;
  port: number;
  /** True when a server was running on the data folder already. */
  reused: boolean;
  /** Folder with the cluster and postgres.log: the data folder, or one in /var/lib/quayside. */
  location: string;
  /** One sentence for the operator when the location is not the data folder. */
  note: string | null;
  /**
   * Stops the server, unless it belongs to another start that is still alive. Waits until it is gone. Can be called
   * again.
   */
  stop(): Promise<void>;
}

const HEX = /^[0-9a-f]{16,}$/i;

function lockPath(dataDir: string): string {
  return join(dataDir, "postgres-start.lock");
}

async function prepare(place: Place): Promise<Installation> {
  const installed = await locateInstallation();
  return place.user ? usableInstallation(installed, place.user, SYSTEM_FOLDER) : installed;
}

/**
 * Starts PostgreSQL on a data folder, or joins the server that runs there: one left by a process that was killed,
 * or one that a second process of the same install uses. The server belongs to whoever started it; when that
 * process is dead, to the next one that comes. Starts at the same moment wait for each other.
 * @throws EmbeddedPostgresError with a message for the operator.
 */
export async function startEmbeddedPostgres(options: EmbeddedPostgresOptions): Promise<EmbeddedPostgres> {
  if (!HEX.test(options.password)) throw new TypeError("The password must be at least 16 hexadecimal digits.");
  const dataDir = await createDataFolder(resolve(options.dataDir));
  return withLock(lockPath(dataDir), () => startLocked(dataDir, options));
}

async function startLocked(dataDir: string, options: EmbeddedPostgresOptions): Promise<EmbeddedPostgres> {
  const { password, onLog, fsync = true } = options;
  const place = await choosePlace(dataDir);
  const installation = await prepare(place);
  const found = await settledServer(place);
  const owns = found === null || !(await hasLivingOwner(dataDir));

  let server: Postmaster;
  let follower: LogFollower | null = null;
  if (found) {
    server = found;
    if (owns) follower = followLog(logFile(place), await fileSize(logFile(place)), onLog);
  } else {
    await ensureCluster({ installation, place, password, fsync });
    const launched = await launchServer({ installation, place, fsync });
    follower = followLog(logFile(place), launched.logStart, onLog);
    server = launched;
  }
  try {
    const url = await ensureDatabase(server.port, password, place);
    if (owns) await takeOwnership(dataDir);
    const stop = stopOnce({ dataDir, installation, place, pid: server.pid, owns, follower });
    return { url, port: server.port, reused: found !== null, location: place.location, note: place.note, stop };
  } catch (error) {
    await follower?.stop();
    // What we started and cannot hand out must not stay behind.
    if (!found) await stopServer({ installation, place }, server.pid);
    throw error;
  }
}

interface Started {
  dataDir: string;
  installation: Installation;
  place: Place;
  pid: number;
  owns: boolean;
  follower: LogFollower | null;
}

function stopOnce(started: Started): () => Promise<void> {
  let stopping: Promise<void> | null = null;
  return () => {
    stopping ??= stopIfOurs(started);
    return stopping;
  };
}

async function stopIfOurs({ dataDir, installation, place, pid, owns, follower }: Started): Promise<void> {
  // Under the lock, so that a start at this moment does not join a server that is going down.
  try {
    await withLock(lockPath(dataDir), async () => {
      if (!owns && (await hasLivingOwner(dataDir))) return;
      const running = await findRunning(place.cluster);
      // Another process number: our server is long gone and this one belongs to a later start.
      if (running?.pid !== pid) return;
      await stopServer({ installation, place }, pid);
      await dropOwnership(dataDir);
    });
  } finally {
    await follower?.stop();
  }
}

/**
 * Stops the server that a killed process left on a data folder. Does nothing when there is none, or when its owner
 * is alive.
 * @returns whether nothing runs on the folder any more, so that it can be removed.
 */
export async function stopAbandonedPostgres(dataDir: string): Promise<boolean> {
  const folder = await createDataFolder(resolve(dataDir));
  return withLock(lockPath(folder), async () => {
    if (await hasLivingOwner(folder)) return false;
    const place = await choosePlace(folder);
    const running = await findRunning(place.cluster);
    if (running) await stopServer({ installation: await prepare(place), place }, running.pid);
    await dropOwnership(folder);
    return true;
  });
}
