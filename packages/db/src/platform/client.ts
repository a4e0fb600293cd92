import { drizzle, type PostgresJsDatabase } from "drizzle-orm/postgres-js";
import postgres from "postgres";
import * as crm from "../crm/schema.ts";
import * as hosting from "../hosting/schema.ts";
import * as identity from "../identity/schema.ts";
import * as webhooks from "../webhooks/schema.ts";
import * as platform from "./schema.ts";

const schema = { ...identity, ...platform, ...crm, ...hosting, ...webhooks };

/** Drizzle over the pool, or over one transaction. */
type Orm = Pick<
  PostgresJsDatabase<typeof schema>,
  "select" | "selectDistinct" | "insert" | "update" | "delete" | "execute" | "transaction"
>;

/**
 * The database as verbs see it. `orm` is for everyday reading and writing; `sql` (postgres.js) for hot paths, where
 * its prepared statements count, and for set-based statements. Both see the same transaction.
 * In `sql`, timestamps come back as text and JSON goes in as text (`${JSON.stringify(value)}::jsonb`).
 */
export interface Database {
  orm: Orm;
  sql: postgres.ISql<Record<never, never>>;
  inTransaction: boolean;
}

export interface DatabasePool extends Database {
  /** Ends the connections after at most 5 seconds. */
  close(): Promise<void>;
}

export function openDatabase(url: string, options: { poolSize: number; applicationName: string }): DatabasePool {
  // The driver knows options that its types do not name.
  const settings = {
    max: options.poolSize,
    connect_timeout: 10,
    onnotice: () => {},
    connection: { application_name: options.applicationName, statement_timeout: 30_000 },
  };
  const client = postgres(url, settings);
  return {
    orm: drizzle(client, { schema, casing: "snake_case" }),
    sql: client,
    inTransaction: false,
    close: () => client.end({ timeout: 5 }),
  };
}

/**
 * Runs `work` in one transaction and commits when it resolves. Inside a transaction it joins that one, so verbs can
 * call verbs.
 */
export async function withTransaction<T>(db: Database, work: (tx: Database) => Promise<T>): Promise<T> {
  if (db.inTransaction) return work(db);
  return db.orm.transaction(async (orm) => {
    // Drizzle keeps the transaction's postgres.js handle in its session; there is no public way to it.
    const session = (orm as unknown as { session: { client: Database["sql"] } }).session;
    return work({ orm, sql: session.client, inTransaction: true });
  });
}
