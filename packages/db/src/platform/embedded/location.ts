import { createHash } from "node:crypto";
import { chmod, mkdir, readdir, realpath, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { EmbeddedPostgresError, unless } from "./errors.ts";
import { databaseUser, firstClosedFolder, type OsUser, runsAsRoot } from "./os-user.ts";

/** Where root keeps what the system user of the database cannot reach elsewhere. */
export const SYSTEM_FOLDER = "/var/lib/quayside";

/** Where a cluster lives and who runs it. */
export interface Place {
  /** Folder that holds the cluster and its log. */
  location: string;
  cluster: string;
  /** Account to run PostgreSQL under; null: our own. */
  user: OsUser | null;
  /** One sentence for the operator when the cluster is not in the data folder. */
  note: string | null;
}

/** Name of PostgreSQL's own data folder inside a location. */
const CLUSTER = "cluster";

/**
 * Creates the data folder, with every missing folder above it, and returns its real path: a link to it must lead to
 * the same lock, the same server and the same cluster.
 */
export async function createDataFolder(dataDir: string): Promise<string> {
  const first = await mkdir(dataDir, { recursive: true });
  if (first !== undefined && runsAsRoot()) {
    // A strict umask would close the new folders to the database user; they may be passed through, not listed.
    for (let folder = dataDir; folder.length >= first.length; folder = dirname(folder)) await chmod(folder, 0o711);
  }
  return realpath(dataDir);
}

/** The system user that an existing cluster belongs to, or else the usual one. */
async function clusterUser(cluster: string, usual: OsUser): Promise<{ exists: boolean; user: OsUser }> {
  const found = await unless(stat(cluster), "ENOENT");
  if (!found || found.uid === 0 || found.uid === usual.uid) return { exists: found !== null, user: usual };
  // A cluster that was made by an ordinary user stays that user's when root starts Quayside once.
  return { exists: true, user: { name: `number ${found.uid}`, uid: found.uid, gid: found.gid } };
}

/**
 * Lets the database user pass through a data folder that is closed but holds nothing but our own files. A folder
 * with other files in it was closed on purpose.
 */
async function openOwnFolder(dataDir: string): Promise<void> {
  const entries = await readdir(dataDir);
  if (!entries.every((name) => name.startsWith(CLUSTER) || name.startsWith("postgres"))) return;
  const { mode } = await stat(dataDir);
  if ((mode & 0o011) !== 0o011) await chmod(dataDir, (mode & 0o777) | 0o011);
}

/**
 * Decides where the cluster of a data folder (an existing, real path) lives. Everywhere but for root that is the
 * data folder itself.
 * @throws EmbeddedPostgresError when an existing cluster has become unreachable: a fresh one would look like lost data.
 */
export async function choosePlace(dataDir: string, systemFolder: string = SYSTEM_FOLDER): Promise<Place> {
  const cluster = join(dataDir, CLUSTER);
  if (!runsAsRoot()) return { location: dataDir, cluster, user: null, note: null };

  await openOwnFolder(dataDir);
  const usual = await databaseUser();
  const here = await clusterUser(cluster, usual);
  const closed = await firstClosedFolder(dataDir, here.user);
  const hash = createHash("sha256").update(dataDir).digest("hex").slice(0, 16);
  const elsewhere = join(systemFolder, hash);
  const there = await clusterUser(join(elsewhere, CLUSTER), usual);

  if (here.exists && closed !== null) {
    throw new EmbeddedPostgresError(
      `The database in ${dataDir} cannot be reached by the system user ${here.user.name}, because the folder ` +
        `${closed} is closed to it; allow passing through with "chmod o+x ${closed}".`,
    );
  }
  if (closed === null && (here.exists || !there.exists)) {
    return { location: dataDir, cluster, user: here.user, note: null };
  }
  await mkdir(elsewhere, { recursive: true });
  await chmod(systemFolder, 0o755);
  await chmod(elsewhere, 0o711);
  const reason =
    closed === null ? "an earlier start put it there" : `the system user ${there.user.name} cannot enter ${closed}`;
  return {
    location: elsewhere,
    cluster: join(elsewhere, CLUSTER),
    user: there.user,
    note: `The database of ${dataDir} lives in ${elsewhere}, because ${reason}.`,
  };
}
