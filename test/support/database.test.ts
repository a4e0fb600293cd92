import postgres from "postgres";
import { expect, onTestFinished, test } from "vitest";
import { createTestDatabase } from "./database.ts";

async function ask(url: string, text: string): Promise<unknown> {
  const sql = postgres(url, { max: 1, onnotice: () => undefined });
  try {
    const [row] = await sql.unsafe(text);
    return row && Object.values(row)[0];
  } finally {
    await sql.end({ timeout: 1 });
  }
}

test("gives every caller a database of its own, with the job queue's tables", async () => {
  const databases = await Promise.all(Array.from({ length: 6 }, createTestDatabase));
  onTestFinished(async () => {
    await Promise.all(databases.map((database) => database.drop()));
  });
  expect(new Set(databases.map(({ url }) => url)).size).toBe(6);
  const [first, second] = databases;
  if (!first || !second) throw new Error("unreachable");
  await ask(first.url, "create table mine (id int)");
  expect(await ask(second.url, "select to_regclass('mine')")).toBeNull();
  expect(await ask(second.url, "select to_regclass('graphile_worker._private_jobs')::text")).toBe(
    "graphile_worker._private_jobs",
  );
});

test("drops a database that still has connections, and can do so twice", async () => {
  const database = await createTestDatabase();
  const sql = postgres(database.url, { max: 1, onnotice: () => undefined });
  await sql`select 1`;
  await database.drop();
  await database.drop();
  await expect(sql`select 1`).rejects.toThrow();
  await sql.end({ timeout: 1 });
  await expect(ask(database.url, "select 1")).rejects.toThrow(/does not exist/);
});
