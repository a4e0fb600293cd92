import { randomUUID } from "node:crypto";
import type { JobName } from "@quayside/contracts";
import postgres from "postgres";
import { afterEach, beforeEach, expect, onTestFinished, test } from "vitest";
import { createTestDatabase, type TestDatabase } from "../../../../test/support/database.ts";
import { quietLog } from "../../../../test/support/services.ts";
import { until } from "../../../../test/support/until.ts";
import { ProcessRegistry } from "./process-registry.ts";
import { type Handlers, startWorkerPool, type WorkerPool } from "./worker-pool.ts";

let database: TestDatabase;
let sql: postgres.Sql;

beforeEach(async () => {
  database = await createTestDatabase();
  sql = postgres(database.url, { max: 2, onnotice: () => undefined });
});

afterEach(async () => {
  await sql.end({ timeout: 1 });
  await database.drop();
});

async function openRegistry(): Promise<ProcessRegistry> {
  const registry = await ProcessRegistry.open(database.url, randomUUID(), quietLog);
  onTestFinished(() => registry.close());
  return registry;
}

interface Started {
  pool: WorkerPool;
  outcomes: string[];
}

async function startPool(handlers: Handlers, options: { graceMs?: number } = {}): Promise<Started> {
  const outcomes: string[] = [];
  const pool = await startWorkerPool({
    name: "test",
    connectionString: database.url,
    concurrency: 2,
    handlers,
    registry: await openRegistry(),
    log: quietLog,
    onJobDone: (name, outcome) => void outcomes.push(`${name} ${outcome}`),
    ...options,
  });
  onTestFinished(() => pool.stop());
  return { pool, outcomes };
}

function addJob(name: JobName, payload: object): Promise<unknown> {
  return sql`SELECT graphile_worker.add_job(${name}, payload := ${JSON.stringify(payload)}::text::json)`;
}

function jobs() {
  return sql<{ locked_by: string | null; attempts: number; last_error: string | null }[]>`
    SELECT locked_by, attempts, last_error FROM graphile_worker._private_jobs ORDER BY id`;
}

test("a job runs with its payload and is gone", async () => {
  const ran: string[] = [];
  const { outcomes } = await startPool({ "hosting.deploy": async ({ deploymentId }) => void ran.push(deploymentId) });
  const deploymentId = randomUUID();
  await addJob("hosting.deploy", { deploymentId });
  await until("it is done", () => outcomes.length > 0);
  expect(ran).toEqual([deploymentId]);
  expect(outcomes).toEqual(["hosting.deploy completed"]);
  await until("it is gone", async () => (await jobs()).length === 0);
});

test("a job that fails is kept for another try, with its error", async () => {
  const { outcomes } = await startPool({ "platform.prune_expired": () => Promise.reject(new Error("no luck")) });
  await addJob("platform.prune_expired", {});
  await until("it has failed", () => outcomes.length > 0);
  await until("it is given back", async () => (await jobs())[0]?.locked_by === null);
  expect(await jobs()).toMatchObject([{ attempts: 1, last_error: expect.stringContaining("no luck") }]);
  expect(outcomes).toEqual(["platform.prune_expired failed"]);
});

test("a payload that is not the job's own fails the job before its handler sees it", async () => {
  let seen = 0;
  const { outcomes } = await startPool({
    "hosting.deploy": async () => {
      seen += 1;
    },
  });
  await addJob("hosting.deploy", { deploymentId: "nonsense" });
  await until("it has failed", () => outcomes.length > 0);
  expect(outcomes).toEqual(["hosting.deploy failed"]);
  expect(seen).toBe(0);
});

test("a pool that stops lets a running job finish", async () => {
  const [running, gate] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const { pool, outcomes } = await startPool({
    "platform.prune_expired": async () => {
      running.resolve();
      await gate.promise;
    },
  });
  await addJob("platform.prune_expired", {});
  await running.promise;
  const stopped = pool.stop();
  gate.resolve();
  await stopped;
  expect(outcomes).toEqual(["platform.prune_expired completed"]);
  expect(await jobs()).toEqual([]);
});

test("a job that does not finish in time is told to, and is free for the next worker", async () => {
  const running = Promise.withResolvers<void>();
  const { pool, outcomes } = await startPool(
    {
      "platform.prune_expired": (_payload, { stopping }) => {
        running.resolve();
        return new Promise((_resolve, reject) =>
          stopping.addEventListener("abort", () => reject(new Error("cut short"))),
        );
      },
    },
    { graceMs: 0 },
  );
  await addJob("platform.prune_expired", {});
  await running.promise;
  await pool.stop();
  expect(outcomes).toEqual(["platform.prune_expired failed"]);
  expect(await jobs()).toMatchObject([{ locked_by: null, last_error: expect.stringContaining("cut short") }]);
});

test("the name under which a pool registers is the one that its jobs are locked by", async () => {
  const [running, gate] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  await startPool({
    "platform.prune_expired": async () => {
      running.resolve();
      await gate.promise;
    },
  });
  await addJob("platform.prune_expired", {});
  await running.promise;
  const [job] = await jobs();
  const [process] = await sql<{ worker_ids: string[] }[]>`SELECT worker_ids FROM worker_processes`;
  gate.resolve();
  expect(process?.worker_ids).toEqual([job?.locked_by]);
});

test("the jobs of a process that died run again in another", async () => {
  await addJob("platform.prune_expired", {});
  await sql`UPDATE graphile_worker._private_jobs SET locked_by = 'dead-pool', locked_at = now(), attempts = 1`;
  await sql`INSERT INTO worker_processes (id, lock_key, worker_ids) VALUES (${randomUUID()}, 4711, ARRAY['dead-pool'])`;
  const { outcomes } = await startPool({ "platform.prune_expired": async () => {} });
  await until("the job runs again", () => outcomes.length > 0);
  const rows = await sql`SELECT id FROM worker_processes WHERE lock_key = 4711`;
  expect(rows).toEqual([]);
});

test("the jobs of a process that is alive are left to it", async () => {
  const alive = await openRegistry();
  await alive.addPool("living-pool");
  await addJob("platform.prune_expired", {});
  await sql`UPDATE graphile_worker._private_jobs SET locked_by = 'living-pool', locked_at = now()`;
  const other = await openRegistry();
  await other.recover();
  expect(await jobs()).toMatchObject([{ locked_by: "living-pool" }]);
});

test("a process whose connection is cut registers again, and is not taken for dead", async () => {
  const registry = await openRegistry();
  await registry.addPool("cut-pool");
  const lockHolder = () => sql<{ pid: number }[]>`
    SELECT l.pid FROM pg_locks l JOIN pg_stat_activity a ON a.pid = l.pid
    WHERE l.locktype = 'advisory' AND l.granted AND a.application_name = 'quayside-process'
      AND a.datname = current_database()`;
  const [before] = await lockHolder();
  await sql`SELECT pg_terminate_backend(${before?.pid ?? 0})`;
  await until("it holds its lock again", async () => {
    const [now] = await lockHolder();
    return now !== undefined && now.pid !== before?.pid;
  });
  const other = await openRegistry();
  await other.recover();
  expect(await sql`SELECT worker_ids FROM worker_processes WHERE 'cut-pool' = ANY (worker_ids)`).toHaveLength(1);
});

test("a process that ends cleanly leaves no row", async () => {
  const registry = await ProcessRegistry.open(database.url, randomUUID(), quietLog);
  await registry.close();
  expect(await sql`SELECT id FROM worker_processes`).toEqual([]);
});
