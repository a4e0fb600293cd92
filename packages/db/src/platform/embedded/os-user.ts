import { stat } from "node:fs/promises";
import { dirname } from "node:path";
import { type RunCommand, runCommand } from "./command.ts";
import { EmbeddedPostgresError } from "./errors.ts";

/** An account of the operating system that PostgreSQL runs under. */
export interface OsUser {
  name: string;
  uid: number;
  gid: number;
}

const NAME = "postgres";

/** True when this process is root, under which PostgreSQL refuses to run. */
export function runsAsRoot(): boolean {
  return process.getuid?.() === 0;
}

async function lookUp(run: RunCommand): Promise<OsUser | null> {
  const [uid, gid] = await Promise.all([run("id", ["-u", NAME]), run("id", ["-g", NAME])]);
  if (uid.code !== 0 || gid.code !== 0) return null;
  return { name: NAME, uid: Number(uid.stdout), gid: Number(gid.stdout) };
}

/**
 * The system account "postgres", created without a login when it is missing. Only root can call this.
 * @throws EmbeddedPostgresError when the account is missing and cannot be created.
 */
export async function databaseUser(run: RunCommand = runCommand): Promise<OsUser> {
  const found = await lookUp(run);
  if (found) return found;
  await run("groupadd", ["--system", NAME]);
  const home = ["--no-create-home", "--home-dir", "/nonexistent", "--shell", "/usr/sbin/nologin"];
  const made = await run("useradd", ["--system", "--gid", NAME, ...home, NAME]);
  // Looked up again whatever useradd said: another start may have created the account a moment earlier.
  const created = await lookUp(run);
  if (created) return created;
  throw new EmbeddedPostgresError(
    `PostgreSQL cannot run as root and the system user "${NAME}" could not be created (${made.stderr.trim()}); ` +
      "create it, start Quayside as another user, or set DATABASE_URL to a PostgreSQL of your own.",
  );
}

/** Whether the user has the permission bits (1 enter or execute, 4 read) on the path itself, by mode and ownership. */
export async function permits(path: string, user: OsUser, bits: number): Promise<boolean> {
  const { mode, uid, gid } = await stat(path);
  const shift = uid === user.uid ? 6 : gid === user.gid ? 3 : 0;
  return ((mode >> shift) & bits) === bits;
}

/**
 * The outermost folder on the way to the given existing folder (itself included) that the user cannot enter.
 * @returns its absolute path, or null when the way is free.
 */
export async function firstClosedFolder(folder: string, user: OsUser): Promise<string | null> {
  const parent = dirname(folder);
  const above = parent === folder ? null : await firstClosedFolder(parent, user);
  if (above !== null) return above;
  return (await permits(folder, user, 1)) ? null : folder;
}
