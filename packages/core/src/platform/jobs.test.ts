import { withTransaction } from "@quayside/db";
import { afterAll, beforeAll, expect, test } from "vitest";
import { openTestServices, type TestServices } from "../../../../test/support/services.ts";
import { enqueue } from "./jobs.ts";

let world: TestServices;

beforeAll(async () => {
  world = await openTestServices();
});

afterAll(() => world.close());

interface JobRow {
  payload: unknown;
  queue: string | null;
  maxAttempts: number;
  runAt: Date;
}

function jobsOf(deploymentId: string): Promise<JobRow[]> {
  return world.services.db.sql<JobRow[]>`
    SELECT j.payload, q.queue_name AS queue, j.max_attempts AS "maxAttempts", j.run_at::text AS "runAt"
    FROM graphile_worker._private_jobs j
    LEFT JOIN graphile_worker._private_job_queues q ON q.id = j.job_queue_id
    WHERE j.payload->>'deploymentId' = ${deploymentId}`;
}

test("a job is there when its transaction commits, with its payload as an object", async () => {
  const { db, ids } = world.services;
  const deploymentId = ids.uuid();
  await withTransaction(db, async (tx) => {
    await enqueue(tx, "hosting.deploy", { deploymentId }, { queueName: "app:1", maxAttempts: 3 });
    expect(await jobsOf(deploymentId)).toEqual([]);
  });
  expect(await jobsOf(deploymentId)).toMatchObject([{ payload: { deploymentId }, queue: "app:1", maxAttempts: 3 }]);
});

test("a job of a transaction that is rolled back was never there", async () => {
  const { db, ids } = world.services;
  const deploymentId = ids.uuid();
  const failing = withTransaction(db, async (tx) => {
    await enqueue(tx, "hosting.deploy", { deploymentId });
    throw new Error("changed our mind");
  });
  await expect(failing).rejects.toThrow("changed our mind");
  expect(await jobsOf(deploymentId)).toEqual([]);
});

test("two jobs of one key are one job", async () => {
  const { db, ids } = world.services;
  const deploymentId = ids.uuid();
  await enqueue(db, "hosting.deploy", { deploymentId }, { jobKey: `deployment:${deploymentId}` });
  await enqueue(db, "hosting.deploy", { deploymentId }, { jobKey: `deployment:${deploymentId}` });
  expect(await jobsOf(deploymentId)).toHaveLength(1);
});

test("a payload that its job would not understand is refused before it is queued", async () => {
  const { db } = world.services;
  await expect(enqueue(db, "hosting.deploy", { deploymentId: "not an id" })).rejects.toThrow();
});
