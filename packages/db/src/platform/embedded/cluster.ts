import { randomBytes } from "node:crypto";
import { chown, mkdir, open, readdir, rename, rm, stat, writeFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { runCommand } from "./command.ts";
import { EmbeddedPostgresError, unless } from "./errors.ts";
import { type Installation, programPath } from "./installation.ts";
import type { Place } from "./location.ts";

/** The only superuser of an embedded cluster. */
export const SUPERUSER = "quayside";

/**
 * Text sorts by code point and has Unicode letters: from the C library where it knows C.UTF-8, otherwise from
 * PostgreSQL itself, with the same results.
 */
export const LOCALES: readonly string[][] = [
  ["--locale=C.UTF-8"],
  ["--locale=C", "--locale-provider=builtin", "--builtin-locale=C.UTF-8"],
];

export interface ClusterOptions {
  installation: Installation;
  place: Place;
  /** The superuser's password, hexadecimal. */
  password: string;
  /** Whether the new files must reach the disk before this returns. */
  fsync: boolean;
  /** Locale options to try in turn. */
  locales?: readonly string[][];
}

/**
 * Creates the cluster unless it exists. It is made under another name and renamed when complete, so the existing
 * folder is always a whole cluster, and whatever a killed attempt left is removed. Only under the start lock.
 * @returns whether a cluster was created.
 */
export async function ensureCluster(options: ClusterOptions): Promise<boolean> {
  const { place, fsync } = options;
  const { cluster } = place;
  if (await unless(stat(cluster), "ENOENT")) {
    if (await unless(stat(join(cluster, "PG_VERSION")), "ENOENT")) return false;
    throw new EmbeddedPostgresError(`The folder ${cluster} is no PostgreSQL cluster; move it away to start anew.`);
  }
  await removeLeftovers(cluster);
  const suffix = randomBytes(6).toString("hex");
  // Not one fixed name: the initdb of a killed attempt may live on for a moment and write into its own folder.
  const staged = `${cluster}.tmp-${suffix}`;
  try {
    await initialise(staged, options);
    await rename(staged, cluster);
  } finally {
    await rm(staged, { recursive: true, force: true, maxRetries: 5 });
  }
  if (fsync) await syncFolder(dirname(cluster));
  return true;
}

async function removeLeftovers(cluster: string): Promise<void> {
  const folder = dirname(cluster);
  for (const entry of await readdir(folder)) {
    if (!entry.startsWith(`${basename(cluster)}.tmp`)) continue;
    await rm(join(folder, entry), { recursive: true, force: true, maxRetries: 5 });
  }
}

async function initialise(staged: string, options: ClusterOptions): Promise<void> {
  const { installation, place, password, fsync, locales = LOCALES } = options;
  const { user, location } = place;
  const passwordFile = `${staged}.password`;
  const fixed = ["-D", staged, "-U", SUPERUSER, `--pwfile=${passwordFile}`, "-A", "scram-sha-256", "--encoding=UTF8"];
  if (!fsync) fixed.push("--no-sync");
  let complaint = "";
  try {
    await writeFile(passwordFile, `${password}\n`, { mode: 0o600 });
    if (user) await chown(passwordFile, user.uid, user.gid);
    for (const locale of locales) {
      await rm(staged, { recursive: true, force: true });
      await mkdir(staged, { mode: 0o700 });
      if (user) await chown(staged, user.uid, user.gid);
      const result = await runCommand(programPath(installation, "initdb"), [...fixed, ...locale], {
        user,
        cwd: location,
      });
      if (result.code === 0) return;
      complaint = result.stderr.trim();
      if (!complaint.includes("locale")) break;
    }
  } finally {
    await rm(passwordFile, { force: true });
  }
  throw new EmbeddedPostgresError(`PostgreSQL could not create its cluster in ${location}: ${complaint}`);
}

/** Makes the rename itself durable. Windows cannot open folders and needs no such step. */
async function syncFolder(folder: string): Promise<void> {
  if (process.platform === "win32") return;
  const handle = await open(folder, "r");
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
