import { readFile, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { unless } from "./errors.ts";
import { processIdentity, stillRuns } from "./process.ts";

/** The file in the data folder that names the process which has to stop the server. */
export const OWNER_FILE = "postgres-owner.json";

interface Owner {
  pid: number;
  /** Start of that process, see processIdentity. */
  identity: string;
}

async function readOwner(dataDir: string): Promise<Owner | null> {
  const text = await unless(readFile(join(dataDir, OWNER_FILE), "utf8"), "ENOENT");
  try {
    const value: unknown = JSON.parse(text ?? "null");
    if (typeof value !== "object" || value === null || !("pid" in value) || !("identity" in value)) return null;
    const { pid, identity } = value;
    return typeof pid === "number" && typeof identity === "string" ? { pid, identity } : null;
  } catch {
    return null;
  }
}

/** Whether the process that owns the server of this data folder is alive. No owner, or an unreadable one, is dead. */
export async function hasLivingOwner(dataDir: string): Promise<boolean> {
  const owner = await readOwner(dataDir);
  return owner !== null && (await stillRuns(owner.pid, owner.identity));
}

/** Makes this process the owner. Only under the start lock. */
export async function takeOwnership(dataDir: string): Promise<void> {
  const owner: Owner = { pid: process.pid, identity: (await processIdentity(process.pid)) ?? "unknown" };
  const file = join(dataDir, OWNER_FILE);
  await writeFile(`${file}.tmp`, `${JSON.stringify(owner)}\n`);
  await rename(`${file}.tmp`, file);
}

/** Leaves the server without an owner. Only under the start lock. */
export async function dropOwnership(dataDir: string): Promise<void> {
  await rm(join(dataDir, OWNER_FILE), { force: true });
}
