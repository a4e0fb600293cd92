import { randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import { chmod, mkdtemp, readdir, rm, statfs } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { runMigrations } from "graphile-worker";
import postgres from "postgres";
import type { TestProject } from "vitest/node";
import {
  type EmbeddedPostgres,
  startEmbeddedPostgres,
  stopAbandonedPostgres,
} from "../../packages/db/src/platform/embedded/index.ts";
import { migrate } from "../../packages/db/src/platform/migrate.ts";

declare module "vitest" {
  interface ProvidedContext {
    /** Connection string of the test server's database for administration; tests clone their own. */
    quaysideAdminUrl: string;
    /** Name of the database to clone. */
    quaysideTemplate: string;
  }
}

/** Linux keeps this folder in memory, where a clone takes a fraction of the time it takes on a busy disk. */
const MEMORY_FOLDER = "/dev/shm";
/** Room for some hundred test databases; containers often give this folder 64 MB only. */
const MEMORY_BYTES = 2 * 1024 ** 3;
const PREFIX = "quayside-test-server-";
const TEMPLATE = "quayside_template";
const MIGRATIONS = new URL("../../packages/db/migrations/", import.meta.url);

/** Starts the one PostgreSQL that every test file shares, with its template database; returns the teardown. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  await removeAbandonedServers();
  const folder = await mkdtemp(join(await roomyFolder(), PREFIX));
  // As root, PostgreSQL runs under another user, who has to pass through.
  if (process.getuid?.() === 0) await chmod(folder, 0o711);
  let server: EmbeddedPostgres | null = null;
  const teardown = async (): Promise<void> => {
    try {
      await server?.stop();
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  };
  try {
    const password = randomBytes(16).toString("hex");
    server = await startEmbeddedPostgres({
      dataDir: join(folder, "postgres"),
      password,
      onLog: () => undefined,
      fsync: false,
    });
    await createTemplate(server.url);
    project.provide("quaysideAdminUrl", server.url);
    project.provide("quaysideTemplate", TEMPLATE);
    return teardown;
  } catch (error) {
    await teardown();
    throw error;
  }
}

async function createTemplate(adminUrl: string): Promise<void> {
  const admin = postgres(adminUrl, { max: 1, onnotice: () => undefined });
  try {
    await admin.unsafe(`create database ${TEMPLATE}`);
    const url = new URL(adminUrl);
    url.pathname = `/${TEMPLATE}`;
    if (existsSync(MIGRATIONS)) {
      const sql = postgres(url.href, { max: 1, onnotice: () => undefined });
      try {
        await migrate(sql, { directory: MIGRATIONS });
      } finally {
        await sql.end({ timeout: 5 });
      }
    }
    await runMigrations({ connectionString: url.href });
    // Closed to connections: one open session would make every clone wait.
    await admin.unsafe(`alter database ${TEMPLATE} with is_template true allow_connections false`);
  } finally {
    await admin.end({ timeout: 5 });
  }
}

async function roomyFolder(): Promise<string> {
  try {
    const { bavail, bsize } = await statfs(MEMORY_FOLDER);
    return bavail * bsize >= MEMORY_BYTES ? MEMORY_FOLDER : tmpdir();
  } catch {
    return tmpdir();
  }
}

/** A run that was killed leaves its server behind; the next run clears it away. */
async function removeAbandonedServers(): Promise<void> {
  for (const base of [MEMORY_FOLDER, tmpdir()]) {
    const entries = existsSync(base) ? await readdir(base) : [];
    for (const entry of entries.filter((name) => name.startsWith(PREFIX))) {
      const dataDir = join(base, entry, "postgres");
      // Without this file a run is just starting there.
      if (!existsSync(join(dataDir, "postgres-owner.json"))) continue;
      try {
        const free = await stopAbandonedPostgres(dataDir);
        if (free) await rm(join(base, entry), { recursive: true, force: true });
      } catch {
        // Another user's; not ours to clear.
      }
    }
  }
}
