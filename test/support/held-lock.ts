import type { connectTo } from "./sql.ts";
import { until } from "./until.ts";

type Sql = ReturnType<typeof connectTo>;

/** Takes a lock in a transaction of its own, and keeps it until the returned function is called. */
export async function holdLock(sql: Sql, statement: string, values: (string | string[])[] = []) {
  const [taken, released] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const held = sql.begin(async (tx) => {
    await tx.unsafe(statement, values);
    taken.resolve();
    await released.promise;
  });
  await Promise.race([taken.promise, held]);
  return async () => {
    released.resolve();
    await held;
  };
}

/** Process ids of the sessions of this database that wait for a lock, once there are so many. */
export function waitingSessions(sql: Sql, count = 1): Promise<number[]> {
  return until(`${count} sessions wait for a lock`, async () => {
    const rows = await sql<{ pid: number }[]>`
      SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`;
    return rows.length >= count && rows.map(({ pid }) => pid);
  });
}
