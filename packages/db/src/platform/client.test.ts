import { afterAll, beforeAll, expect, test } from "vitest";
import { createTestDatabase, type TestDatabase } from "../../../../test/support/database.ts";
import { type Database, type DatabasePool, openDatabase, withTransaction } from "./client.ts";

let database: TestDatabase;
let killer: DatabasePool;

beforeAll(async () => {
  database = await createTestDatabase();
  killer = openDatabase(database.url, { poolSize: 1, applicationName: "killer" });
  await killer.sql`CREATE TABLE notes (text text NOT NULL)`;
});

afterAll(async () => {
  await killer.close();
  await database.drop();
});

/** One connection, so that whatever is done next uses the same one. */
async function withPool(work: (db: DatabasePool) => Promise<void>): Promise<void> {
  const db = openDatabase(database.url, { poolSize: 1, applicationName: "client-test" });
  try {
    await work(db);
  } finally {
    await db.close();
  }
}

async function backendOf(db: Database): Promise<number> {
  const [row] = await db.sql<{ pid: number }[]>`SELECT pg_backend_pid() AS pid`;
  return row?.pid ?? 0;
}

async function kill(pid: number): Promise<void> {
  await killer.sql`SELECT pg_terminate_backend(${pid}, 5000)`;
}

async function notes(): Promise<string[]> {
  const rows = await killer.sql<{ text: string }[]>`SELECT text FROM notes ORDER BY text`;
  return rows.map(({ text }) => text);
}

test("a transaction whose connection dies in mid-statement fails, and the pool goes on", async () => {
  await withPool(async (db) => {
    const pid = Promise.withResolvers<number>();
    const work = withTransaction(db, async (tx) => {
      pid.resolve(await backendOf(tx));
      await tx.sql`SELECT pg_sleep(30)`;
    });
    const outcome = expect(work).rejects.toThrow();
    await kill(await pid.promise);
    await outcome;
    expect(await backendOf(db)).not.toBe(await pid.promise);
    expect(await db.sql`SELECT 1 AS one`).toEqual([{ one: 1 }]);
  });
});

test("what a transaction asks for after its connection died never runs in another one", async () => {
  await withPool(async (db) => {
    const [pid, gate] = [Promise.withResolvers<number>(), Promise.withResolvers<void>()];
    const late: { error?: unknown } = {};
    const dying = withTransaction(db, async (tx) => {
      await tx.sql`INSERT INTO notes VALUES ('of the dead')`;
      pid.resolve(await backendOf(tx));
      await gate.promise;
      await tx.sql`INSERT INTO notes VALUES ('late')`.catch((error: unknown) => {
        late.error = error;
      });
    });
    const outcome = expect(dying).rejects.toThrow();
    await kill(await pid.promise);
    await outcome;
    // The pool's one connection is back and in another transaction when the dead one goes on.
    await withTransaction(db, async (tx) => {
      await tx.sql`INSERT INTO notes VALUES ('of the living')`;
      gate.resolve();
      await backendOf(tx);
    });
    expect(late.error).toMatchObject({ code: "CONNECTION_CLOSED" });
    expect(await notes()).toEqual(["of the living"]);
  });
});

test("a transaction is one however many statements the connection has in hand", async () => {
  await withPool(async (db) => {
    await db.sql`SELECT 1`;
    for (let busy = 97; busy <= 103; busy++) {
      const others = Array.from({ length: busy }, () => db.sql`SELECT 1`.execute());
      const failing = withTransaction(db, async (tx) => {
        await tx.sql`INSERT INTO notes VALUES ('rolled back')`;
        throw new Error("as planned");
      });
      await expect(failing).rejects.toThrow("as planned");
      await Promise.all(others);
      const [row] = await db.sql`SELECT pg_current_xact_id_if_assigned() AS "openTransaction"`;
      expect(row).toEqual({ openTransaction: null });
    }
    expect(await notes()).not.toContain("rolled back");
  });
});
