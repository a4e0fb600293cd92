import { endStuckConnections, openDatabase } from "@quayside/db";
import pg from "pg";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createTestDatabase, type TestDatabase } from "../support/database.ts";
import { until } from "../support/until.ts";

/** The steps of a statement, which the driver has and its types do not show. */
interface Wire {
  parse(statement: { name: string; text: string; types: number[] }): void;
  describe(target: { type: string; name: string }): void;
  flush(): void;
}

describe("a connection whose driver stops in the middle of a statement", () => {
  let database: TestDatabase;

  beforeAll(async () => {
    database = await createTestDatabase();
  });

  afterAll(() => database?.drop());

  test("is ended, while others at work or idle are left alone", async () => {
    const pool = openDatabase(database.url, { poolSize: 2, applicationName: "quayside-test" });
    const stuck = new pg.Client({ connectionString: database.url, application_name: "quayside-stuck" });
    const idle = new pg.Client({ connectionString: database.url, application_name: "quayside-idle" });
    // The client does not know what its own messages are about and complains of the answers.
    stuck.on("error", () => {});
    const ended = new Promise<void>((resolve) => stuck.once("end", () => resolve()));
    try {
      await Promise.all([stuck.connect(), idle.connect()]);
      const { connection } = stuck as unknown as { connection: Wire };
      connection.parse({ name: "", text: "SELECT $1::int", types: [] });
      connection.describe({ type: "S", name: "" });
      connection.flush();
      const count = await until("the stuck connection is found", () => endStuckConnections(pool, 0));
      expect(count).toBe(1);
      await ended;
      expect((await idle.query("SELECT 1 AS one")).rows).toEqual([{ one: 1 }]);
    } finally {
      await idle.end();
      await stuck.end().catch(() => {});
      await pool.close();
    }
  });
});
