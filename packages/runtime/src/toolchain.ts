import { mkdir, readlink, realpath, rm, symlink } from "node:fs/promises";
import { delimiter, dirname, join } from "node:path";
import type { DataLayout } from "./data-layout.ts";

const SYSTEM_PATH = ["/usr/local/bin", "/usr/bin", "/bin"];

/** The programs that builds and apps are given: this very node, and npm run by it. */
export interface Toolchain {
  /** Folders for PATH, in order. */
  path: string[];
  /** Folders outside the system's that a private root must show. */
  folders: string[];
  hasNpm: boolean;
}

/** Finds node and npm and links npm into a folder of its own, so that PATH shows nothing else that lies beside it. */
export async function prepareToolchain(layout: DataLayout): Promise<Toolchain> {
  const nodeFolder = dirname(process.execPath);
  const npm = await findNpm(nodeFolder);
  await mkdir(layout.toolsDirectory, { recursive: true });
  const folders = [nodeFolder, layout.toolsDirectory];
  if (npm !== null) {
    await link(join(npm, "bin", "npm-cli.js"), join(layout.toolsDirectory, "npm"));
    await link(join(npm, "bin", "npx-cli.js"), join(layout.toolsDirectory, "npx"));
    folders.push(npm);
  }
  return { path: [nodeFolder, layout.toolsDirectory, ...SYSTEM_PATH], folders, hasNpm: npm !== null };
}

/** Folder of the npm package. */
async function findNpm(nodeFolder: string): Promise<string | null> {
  const folders = [nodeFolder, ...(process.env.PATH ?? "").split(delimiter), ...SYSTEM_PATH];
  for (const folder of folders) {
    if (folder === "") continue;
    const found = await realpath(join(folder, "npm")).catch(() => null);
    if (found?.endsWith(join("bin", "npm-cli.js"))) return dirname(dirname(found));
  }
  return null;
}

async function link(target: string, path: string): Promise<void> {
  if ((await readlink(path).catch(() => null)) === target) return;
  await rm(path, { force: true });
  await symlink(target, path).catch(async (error: unknown) => {
    // Another process of the same installation may have made it meanwhile.
    if ((await readlink(path).catch(() => null)) !== target) throw error;
  });
}
