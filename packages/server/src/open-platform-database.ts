import { join } from "node:path";
import { isDatabaseUnavailable } from "@quayside/core";
import { migrateDatabase, startEmbeddedPostgres } from "@quayside/db";
import { runMigrations } from "graphile-worker";
import type { Logger } from "pino";
import type { Configuration } from "./configuration/load-configuration.ts";

export interface PlatformDatabase {
  url: string;
  note: string | null;
  /** Port of the embedded database; null for one that is somebody else's. */
  embeddedPort: number | null;
  stop(): Promise<void>;
}

/** The configured or the embedded database, with every migration applied. */
export async function openPlatformDatabase(configuration: Configuration, log: Logger): Promise<PlatformDatabase> {
  const database = await findDatabase(configuration, log);
  try {
    const applied = await migrateDatabase(database.url);
    if (applied.length > 0) log.info({ applied }, "migrations applied");
    await runMigrations({ connectionString: database.url });
    return database;
  } catch (error) {
    await database.stop();
    throw isDatabaseUnavailable(error) ? explainUnreachable(database.url, error) : error;
  }
}

/** Names the place without the password. */
function explainUnreachable(url: string, error: unknown): Error {
  const { host, pathname } = new URL(url);
  const reason = error instanceof Error && error.message !== "" ? error.message : "no answer";
  const message = `the database ${pathname.slice(1)} at ${host} cannot be reached (${reason}); check DATABASE_URL, or unset it for an embedded one.`;
  return new Error(message, { cause: error });
}

async function findDatabase(configuration: Configuration, log: Logger): Promise<PlatformDatabase> {
  const { config, dataDir, databasePassword } = configuration;
  if (config.DATABASE_URL !== undefined)
    return { url: config.DATABASE_URL, note: null, embeddedPort: null, stop: async () => {} };
  const embedded = await startEmbeddedPostgres({
    dataDir: join(dataDir, "postgres"),
    password: databasePassword,
    onLog: (line) => log.debug({ postgres: line }, "database"),
  });
  return { url: embedded.url, note: embedded.note, embeddedPort: embedded.port, stop: () => embedded.stop() };
}
