import { randomBytes } from "node:crypto";
import { mkdir, readdir, rename, rm, rmdir, unlink, writeFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { EmbeddedPostgresError, errorCode, unless } from "./errors.ts";
import { processIdentity, stillRuns } from "./process.ts";

const POLL_MS = 40;
/** Long enough for an initdb or a recovery on a slow disk. */
const WAIT_MS = 180_000;

/** Entries are named "<pid>.<start of the process>.<random>". */
async function isHeld(entry: string): Promise<boolean> {
  const [pid, identity] = entry.split(".");
  return identity !== undefined && (await stillRuns(Number(pid), identity));
}

/**
 * Runs the work while holding the lock at `path`, waiting for other holders, in this process or another.
 *
 * The lock is a folder with one file that names its holder: a rename puts a filled folder in place only where none
 * or an empty one is, and the lock of a dead holder is broken by removing the file of exactly that holder. So two
 * waiters that find the same dead holder can never remove each other's fresh lock, as they could with a plain file.
 */
export async function withLock<T>(path: string, work: () => Promise<T>): Promise<T> {
  const identity = (await processIdentity(process.pid)) ?? "unknown";
  const name = `${process.pid}.${identity}.${randomBytes(6).toString("hex")}`;
  const staged = `${path}.${name}`;
  await mkdir(staged);
  try {
    await writeFile(join(staged, name), "");
    await take(staged, path);
  } catch (error) {
    await rm(staged, { recursive: true, force: true });
    throw error;
  }
  try {
    await sweepStaged(path);
    return await work();
  } finally {
    await unless(unlink(join(path, name)), "ENOENT");
    await dropEmpty(path);
  }
}

async function take(staged: string, path: string): Promise<void> {
  const deadline = Date.now() + WAIT_MS;
  // Windows names a folder in the way EPERM; elsewhere that code is a real lack of permission.
  const busy = ["ENOTEMPTY", "EEXIST", ...(process.platform === "win32" ? ["EPERM", "EACCES"] : [])];
  for (;;) {
    try {
      return await rename(staged, path);
    } catch (error) {
      if (!busy.includes(errorCode(error) ?? "")) throw error;
    }
    const entries = (await unless(readdir(path), "ENOENT")) ?? [];
    for (const entry of entries) {
      if (!(await isHeld(entry))) await unless(unlink(join(path, entry)), "ENOENT");
    }
    await dropEmpty(path);
    if (Date.now() > deadline) {
      throw new EmbeddedPostgresError(`Another start of the database holds ${path} (process ${entries.join(", ")}).`);
    }
    await sleep(POLL_MS);
  }
}

/** Fails by design when another holder has filled the folder in the meantime. */
async function dropEmpty(path: string): Promise<void> {
  await unless(rmdir(path), "ENOENT", "ENOTEMPTY", "EEXIST", "EPERM", "EBUSY");
}

/** Removes what waiters left behind that were killed while they waited. */
async function sweepStaged(path: string): Promise<void> {
  const prefix = `${basename(path)}.`;
  for (const entry of await readdir(dirname(path))) {
    if (!entry.startsWith(prefix) || (await isHeld(entry.slice(prefix.length)))) continue;
    await rm(join(dirname(path), entry), { recursive: true, force: true });
  }
}
