import { createHash } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type postgres from "postgres";

/** A database or a folder of migrations that cannot be brought together; the message is written for the operator. */
export class MigrationError extends Error {
  override readonly name = "MigrationError";
}

export interface MigrateOptions {
  /** Folder with the files NNNN_verb_noun.sql, numbered from 0001 without gaps. */
  directory: URL | string;
  /** Called with the file's name after each file that was applied. */
  onApplied?: (name: string) => void;
}

interface Migration {
  name: string;
  text: string;
  /** SHA-256 of the text, hexadecimal. */
  checksum: string;
}

const FILE_NAME = /^(\d{4})_[a-z][a-z0-9]*(?:_[a-z0-9]+)+\.sql$/;

/** Any number that no other advisory lock of the product uses. */
const LOCK_KEY = 7_311_042_018;

/**
 * Brings the database forward: applies, in order, the files it has not seen, each in one transaction with its row
 * in schema_migrations. Concurrent callers wait for each other. There is no way back; a mistake is corrected by a
 * later file. Statements that cannot run in a transaction (CREATE INDEX CONCURRENTLY) cannot be used.
 * @returns the names of the files applied now.
 * @throws MigrationError when names, order or contents of the files do not fit the database, or when a file fails:
 *   with its name, and the error of the database as the cause.
 */
export async function migrate(sql: postgres.Sql, options: MigrateOptions): Promise<{ applied: string[] }> {
  const migrations = await readMigrations(options.directory);
  const session = await sql.reserve();
  try {
    // A lock of the session: it spans the transactions, and ends with the connection when this process dies.
    await session`select pg_advisory_lock(${LOCK_KEY}::bigint)`;
    try {
      const pending = await pendingMigrations(session, migrations);
      for (const migration of pending) {
        await apply(session, migration);
        options.onApplied?.(migration.name);
      }
      return { applied: pending.map(({ name }) => name) };
    } finally {
      // On a broken connection the lock is gone already, and the first error is the one to report.
      await session`select pg_advisory_unlock(${LOCK_KEY}::bigint)`.catch(() => undefined);
    }
  } finally {
    session.release();
  }
}

async function readMigrations(directory: URL | string): Promise<Migration[]> {
  const folder = directory instanceof URL ? fileURLToPath(directory) : directory;
  const entries = await readdir(folder, { withFileTypes: true });
  const names = entries
    .filter((entry) => entry.isFile() && !entry.name.startsWith(".") && !entry.name.endsWith(".md"))
    .map((entry) => entry.name)
    .sort();
  names.forEach(checkName);
  return Promise.all(
    names.map(async (name) => {
      // A checkout on Windows may have other line ends; that is no other migration.
      const text = (await readFile(join(folder, name), "utf8")).replaceAll("\r\n", "\n");
      return { name, text, checksum: createHash("sha256").update(text).digest("hex") };
    }),
  );
}

function checkName(name: string, index: number): void {
  const number = FILE_NAME.exec(name)?.[1];
  if (number === undefined) {
    throw new MigrationError(`The migration file "${name}" is not named like 0001_create_tables.sql.`);
  }
  const expected = String(index + 1).padStart(4, "0");
  if (number !== expected) {
    throw new MigrationError(`The migration file "${name}" should have the number ${expected}: no gaps, no doubles.`);
  }
}

async function pendingMigrations(session: postgres.ReservedSql, migrations: Migration[]): Promise<Migration[]> {
  // Asked first, because "create table if not exists" raises a notice each time.
  const [table] = await session<{ found: boolean }[]>`select to_regclass('public.schema_migrations') is not null found`;
  if (!table?.found) {
    await session`
      create table public.schema_migrations (
        name text primary key,
        checksum text not null,
        applied_at timestamptz not null default now()
      )`;
  }
  const rows = await session<{ name: string; checksum: string }[]>`
    select name, checksum from public.schema_migrations order by name`;
  const known = new Set(migrations.map(({ name }) => name));
  const stranger = rows.find(({ name }) => !known.has(name));
  if (stranger) {
    throw new MigrationError(
      `The database is newer than this program: it has the migration "${stranger.name}", which this program does not know.`,
    );
  }
  const applied = new Map(rows.map(({ name, checksum }) => [name, checksum]));
  const changed = migrations.find(({ name, checksum }) => applied.has(name) && applied.get(name) !== checksum);
  if (changed) {
    throw new MigrationError(`The migration file "${changed.name}" was changed after it was applied; restore it.`);
  }
  // Files have no gaps and every row has its file, so fewer rows than files up to the last row means a skipped one.
  const pending = migrations.filter(({ name }) => !applied.has(name));
  const last = rows.at(-1)?.name ?? "";
  const skipped = pending.find(({ name }) => name < last);
  if (skipped) throw new MigrationError(`The migration file "${skipped.name}" was not applied, but "${last}" was.`);
  return pending;
}

async function apply(session: postgres.ReservedSql, { name, text, checksum }: Migration): Promise<void> {
  await session`begin`;
  try {
    const before = await transactionId(session);
    await session.unsafe(text);
    if ((await transactionId(session)) !== before) {
      throw new MigrationError("it ends its transaction, so a failure would leave half of it");
    }
    await session`insert into public.schema_migrations (name, checksum) values (${name}, ${checksum})`;
    await session`commit`;
  } catch (error) {
    await session`rollback`.catch(() => undefined);
    const reason = error instanceof Error ? error.message : String(error);
    throw new MigrationError(`The migration file "${name}" failed: ${reason}`, { cause: error });
  }
}

async function transactionId(session: postgres.ReservedSql): Promise<string | undefined> {
  const [row] = await session<{ id: string }[]>`select pg_current_xact_id()::text id`;
  return row?.id;
}
