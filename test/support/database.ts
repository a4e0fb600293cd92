import { randomBytes } from "node:crypto";
import postgres from "postgres";
import { inject } from "vitest";

/** A database of one test file (or one test). */
export interface TestDatabase {
  /** Connection string, as the superuser. */
  url: string;
  /** Removes the database, ending whatever connections are still open. */
  drop(): Promise<void>;
}

/** PostgreSQL's "object in use": someone has a session on the template. */
const OBJECT_IN_USE = "55006";
const ATTEMPTS = 5;

async function administer(text: string): Promise<void> {
  const sql = postgres(inject("quaysideAdminUrl"), { max: 1, fetch_types: false, onnotice: () => undefined });
  try {
    await sql.unsafe(text);
  } finally {
    await sql.end({ timeout: 5 });
  }
}

/** Creates an empty database with the current schema and the job queue's, a clone of the run's template. */
export async function createTestDatabase(): Promise<TestDatabase> {
  const name = `test_${process.pid}_${randomBytes(6).toString("hex")}`;
  const clone = `create database ${name} template ${inject("quaysideTemplate")}`;
  for (let attempt = 1; ; attempt++) {
    try {
      await administer(clone);
      break;
    } catch (error) {
      const inUse = error instanceof postgres.PostgresError && error.code === OBJECT_IN_USE;
      if (!inUse || attempt === ATTEMPTS) throw error;
    }
  }
  const url = new URL(inject("quaysideAdminUrl"));
  url.pathname = `/${name}`;
  return { url: url.href, drop: () => administer(`drop database if exists ${name} with (force)`) };
}
