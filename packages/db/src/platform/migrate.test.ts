import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import postgres from "postgres";
import { expect, onTestFinished, test } from "vitest";
import { createTestDatabase } from "../../../../test/support/database.ts";
import { MigrationError, migrate } from "./migrate.ts";

/** A database without schema_migrations, whatever the template has. */
async function connect(url?: string): Promise<{ sql: postgres.Sql; url: string }> {
  const database = url === undefined ? await createTestDatabase() : { url, drop: async () => undefined };
  const sql = postgres(database.url, { max: 2, onnotice: () => undefined });
  if (url === undefined) await sql`drop table if exists schema_migrations`;
  onTestFinished(async () => {
    await sql.end({ timeout: 1 });
    await database.drop();
  });
  return { sql, url: database.url };
}

async function folderWith(files: Record<string, string>): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "quayside-migrations-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  for (const [name, text] of Object.entries(files)) await writeFile(join(folder, name), text);
  return folder;
}

const TWO = {
  "0001_create_dock.sql": "create table dock (id int primary key);\ninsert into dock values (1);",
  "0002_add_dock_name.sql": "alter table dock add column name text; update dock set name = 'north';",
};

test("applies in order, tells each name, and does nothing the second time", async () => {
  const { sql } = await connect();
  const directory = await folderWith({ ...TWO, "README.md": "not a migration" });
  const told: string[] = [];
  const first = await migrate(sql, { directory, onApplied: (name) => told.push(name) });
  expect(first).toEqual({ applied: Object.keys(TWO) });
  expect(told).toEqual(Object.keys(TWO));
  expect(await sql`select * from dock`).toEqual([{ id: 1, name: "north" }]);
  const rows = await sql`select name, checksum ~ '^[0-9a-f]{64}$' hex, applied_at <= now() past from schema_migrations`;
  expect(rows).toEqual(Object.keys(TWO).map((name) => ({ name, hex: true, past: true })));
  const again = await migrate(sql, { directory: pathToFileURL(`${directory}/`), onApplied: (name) => told.push(name) });
  expect(again).toEqual({ applied: [] });
  expect(told).toHaveLength(2);
});

test("works on a client with one connection, and gives it back", async () => {
  const { url } = await connect();
  const sql = postgres(url, { max: 1, onnotice: () => undefined });
  onTestFinished(() => sql.end({ timeout: 1 }));
  await migrate(sql, { directory: await folderWith(TWO) });
  expect(await sql`select count(*)::int n from dock`).toEqual([{ n: 1 }]);
  const locks = await sql`select 1 from pg_locks where locktype = 'advisory' and database =
    (select oid from pg_database where datname = current_database())`;
  expect(locks).toHaveLength(0);
});

test("two runs at once apply each file once", async () => {
  const first = await connect();
  const second = await connect(first.url);
  const directory = await folderWith({ ...TWO, "0003_wait_little.sql": "select pg_sleep(0.2)" });
  const results = await Promise.all([migrate(first.sql, { directory }), migrate(second.sql, { directory })]);
  expect(results.map(({ applied }) => applied.length).sort()).toEqual([0, 3]);
});

test("a failing file leaves nothing of itself and keeps the ones before it", async () => {
  const { sql } = await connect();
  const bad = "create table half (id int); insert into half values ('no number');";
  const directory = await folderWith({ ...TWO, "0003_create_half.sql": bad });
  const failing = migrate(sql, { directory });
  await expect(failing).rejects.toThrow(MigrationError);
  await expect(failing).rejects.toThrow(/"0003_create_half.sql" failed: invalid input syntax/);
  expect(await sql`select to_regclass('half') half, (select count(*)::int from schema_migrations) n`).toEqual([
    { half: null, n: 2 },
  ]);
  await writeFile(join(directory, "0003_create_half.sql"), "create table half (id int)");
  expect(await migrate(sql, { directory })).toEqual({ applied: ["0003_create_half.sql"] });
});

test("a file that ends its own transaction is refused", async () => {
  const { sql } = await connect();
  const directory = await folderWith({ "0001_create_dock.sql": "create table dock (); commit; create table more ();" });
  await expect(migrate(sql, { directory })).rejects.toThrow(/"0001_create_dock.sql" failed: it ends its transaction/);
  expect(await sql`select * from schema_migrations`).toHaveLength(0);
});

test("a file changed after it was applied is named; other line ends are no change", async () => {
  const { sql } = await connect();
  const directory = await folderWith(TWO);
  await migrate(sql, { directory });
  const name = "0001_create_dock.sql";
  await writeFile(join(directory, name), TWO[name].replaceAll("\n", "\r\n"));
  expect(await migrate(sql, { directory })).toEqual({ applied: [] });
  await writeFile(join(directory, name), `${TWO[name]} -- better`);
  await expect(migrate(sql, { directory })).rejects.toThrow(`"${name}" was changed after it was applied`);
});

test("a database of a newer release is left alone", async () => {
  const { sql } = await connect();
  await migrate(sql, { directory: await folderWith(TWO) });
  const directory = await folderWith({ "0001_create_dock.sql": TWO["0001_create_dock.sql"] });
  await expect(migrate(sql, { directory })).rejects.toThrow(
    /database is newer than this program: .*0002_add_dock_name/,
  );
});

test("a file skipped by the database is an error", async () => {
  const { sql } = await connect();
  const directory = await folderWith(TWO);
  await migrate(sql, { directory });
  await sql`delete from schema_migrations where name like '0001%'`;
  await expect(migrate(sql, { directory })).rejects.toThrow(/"0001_create_dock.sql" was not applied, but "0002/);
});

test.each([
  [["0002_create_dock.sql"], /"0002_create_dock.sql" should have the number 0001/],
  [["0001_create_dock.sql", "0003_drop_dock.sql"], /"0003_drop_dock.sql" should have the number 0002/],
  [["0001_create_dock.sql", "0001_drop_dock.sql"], /"0001_drop_dock.sql" should have the number 0002/],
  [["1_create_dock.sql"], /"1_create_dock.sql" is not named like/],
  [["0001_create.sql"], /"0001_create.sql" is not named like/],
  [["0001_Create_Dock.sql"], /is not named like/],
  [["0001_create_dock.sq"], /is not named like/],
])("refuses the names %j before it touches the database", async (names, message) => {
  const { sql } = await connect();
  const directory = await folderWith(Object.fromEntries(names.map((name) => [name, "select 1"])));
  await expect(migrate(sql, { directory })).rejects.toThrow(message);
  expect(await sql`select to_regclass('schema_migrations') t`).toEqual([{ t: null }]);
});

test("an empty folder is fine", async () => {
  const { sql } = await connect();
  expect(await migrate(sql, { directory: await folderWith({}) })).toEqual({ applied: [] });
});
