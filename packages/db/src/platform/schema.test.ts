import { is } from "drizzle-orm";
import { getTableConfig, PgTable } from "drizzle-orm/pg-core";
import postgres from "postgres";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createTestDatabase, type TestDatabase } from "../../../../test/support/database.ts";
import * as crm from "../crm/schema.ts";
import * as hosting from "../hosting/schema.ts";
import * as identity from "../identity/schema.ts";
import * as webhooks from "../webhooks/schema.ts";
import * as platform from "./schema.ts";

const declared: unknown[] = Object.values({ ...identity, ...platform, ...crm, ...hosting, ...webhooks });
const tables = declared.filter((value): value is PgTable => is(value, PgTable));

describe("the schema in code and the migrated database", () => {
  let database: TestDatabase;
  let sql: postgres.Sql;

  beforeAll(async () => {
    database = await createTestDatabase();
    sql = postgres(database.url, { max: 1 });
  });

  afterAll(async () => {
    await sql?.end();
    await database?.drop();
  });

  it("have the same tables", async () => {
    const rows = await sql<{ name: string }[]>`
      SELECT table_name AS name FROM information_schema.tables WHERE table_schema = 'public' AND table_name <> 'schema_migrations'`;
    expect(tables.map((table) => getTableConfig(table).name).sort()).toEqual(rows.map(({ name }) => name).sort());
  });

  it.each(tables.map((table) => [getTableConfig(table).name, table] as const))(
    "have the same columns in %s",
    async (name, table) => {
      const rows = await sql<{ name: string; nullable: string }[]>`
      SELECT column_name AS name, is_nullable AS nullable FROM information_schema.columns
      WHERE table_schema = 'public' AND table_name = ${name}`;
      const inDatabase = rows.map((row) => `${row.name} ${row.nullable === "YES" ? "null" : "not null"}`);
      const inCode = getTableConfig(table).columns.map(
        (column) =>
          `${column.name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)} ${column.notNull ? "not null" : "null"}`,
      );
      expect(inCode.sort()).toEqual(inDatabase.sort());
    },
  );
});
