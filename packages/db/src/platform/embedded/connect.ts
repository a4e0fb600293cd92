import { setTimeout as sleep } from "node:timers/promises";
import postgres from "postgres";
import { SUPERUSER } from "./cluster.ts";
import { EmbeddedPostgresError, errorCode } from "./errors.ts";
import type { Place } from "./location.ts";
import { findRunning, type Postmaster } from "./process.ts";

/** The database the product uses. */
const DATABASE = "quayside";
const POLL_MS = 20;
const READY_MS = 120_000;

/** SQLSTATE codes. */
const WRONG_PASSWORD = "28P01";
const NO_SUCH_DATABASE = "3D000";
const DUPLICATE_DATABASE = "42P04";

/** Connection string of a database of the embedded server. */
function databaseUrl(port: number, password: string, database: string = DATABASE): string {
  return `postgres://${SUPERUSER}:${password}@127.0.0.1:${port}/${database}`;
}

async function query(url: string, text: string): Promise<void> {
  const sql = postgres(url, { max: 1, connect_timeout: 10, fetch_types: false, onnotice: () => undefined });
  try {
    await sql.unsafe(text);
  } finally {
    await sql.end({ timeout: 1 });
  }
}

/**
 * Proves with a real query that the server works and has the database, creating the database when it is missing.
 * @throws EmbeddedPostgresError when the cluster was created with another password.
 */
export async function ensureDatabase(port: number, password: string, place: Place): Promise<string> {
  const url = databaseUrl(port, password);
  try {
    await query(url, "select 1");
  } catch (error) {
    if (errorCode(error) === WRONG_PASSWORD) {
      throw new EmbeddedPostgresError(
        `The database in ${place.location} was created with another password; restore the file that held it, ` +
          "or move that folder away to start with an empty database.",
        { cause: error },
      );
    }
    if (errorCode(error) !== NO_SUCH_DATABASE) throw error;
    try {
      await query(databaseUrl(port, password, "postgres"), `create database ${DATABASE}`);
    } catch (creation) {
      if (errorCode(creation) !== DUPLICATE_DATABASE) throw creation;
    }
    await query(url, "select 1");
  }
  return url;
}

/** Waits until the server on the cluster is ready or, having been on its way down, gone (null). */
export async function settledServer(place: Place): Promise<Postmaster | null> {
  const deadline = Date.now() + READY_MS;
  for (;;) {
    const running = await findRunning(place.cluster);
    if (!running || running.status === "ready") return running;
    if (Date.now() > deadline) {
      throw new EmbeddedPostgresError(
        `PostgreSQL (process ${running.pid}) on ${place.cluster} has not become ready in ${READY_MS / 1000} seconds.`,
      );
    }
    await sleep(POLL_MS);
  }
}
