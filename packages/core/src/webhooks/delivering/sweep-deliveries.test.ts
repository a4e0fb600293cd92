import { afterEach, beforeEach, expect, test } from "vitest";
import { pruneWebhooks } from "./prune-webhooks.ts";
import { sweepDeliveries } from "./sweep-deliveries.ts";
import { LEASE_MS, type Outbox, openOutbox } from "./testing/outbox.ts";
import { wakeForNext } from "./wake-endpoints.ts";

const DAY_MS = 86_400_000;
const NOT_STOPPING = new AbortController().signal;

let outbox: Outbox;

beforeEach(async () => {
  outbox = await openOutbox();
});

afterEach(() => outbox?.tests.close());

const sql = () => outbox.tests.services.db.sql;

async function wokenEndpoints(): Promise<string[]> {
  const rows = await sql()<{ id: string }[]>`
    SELECT payload ->> 'endpointId' AS id FROM graphile_worker._private_jobs`;
  return rows.map(({ id }) => id);
}

test("a sweep wakes the endpoints to which something is due, each once", async () => {
  const [due, later, idle] = [await outbox.endpoint(), await outbox.endpoint(), await outbox.endpoint()];
  await outbox.fill(due, 3);
  await outbox.fill(later, 1, { inMs: 1_000 });
  expect(await sweepDeliveries(outbox.system)).toBe(1);
  expect(await wokenEndpoints()).toEqual([due]);
  expect(idle).not.toBe(due);
});

test("a sweep leaves alone what is leased, until the lease is over", async () => {
  const endpoint = await outbox.endpoint();
  await outbox.fill(endpoint);
  await outbox.claim(endpoint);
  expect(await sweepDeliveries(outbox.system)).toBe(0);
  outbox.tests.clock.advance(LEASE_MS);
  expect(await sweepDeliveries(outbox.system)).toBe(1);
});

test("a sweep leaves endpoints alone that are disabled or rest", async () => {
  const [disabled, resting] = [await outbox.endpoint(), await outbox.endpoint()];
  await outbox.fill(disabled);
  await outbox.fill(resting);
  const until = new Date(outbox.nowMs() + 1).toISOString();
  await sql()`UPDATE webhook_endpoints SET status = 'disabled' WHERE id = ${disabled}`;
  await sql()`UPDATE webhook_endpoints SET paused_until = ${until}::timestamptz WHERE id = ${resting}`;
  expect(await sweepDeliveries(outbox.system)).toBe(0);
  outbox.tests.clock.advance(1);
  expect(await sweepDeliveries(outbox.system)).toBe(1);
});

test("the next look is at the time of the next delivery, or at the end of a rest, in one job", async () => {
  const endpoint = await outbox.endpoint();
  expect(await wakeForNext(outbox.system, endpoint, null)).toBeNull();
  await outbox.fill(endpoint, 1, { inMs: 7_000 });
  await outbox.fill(endpoint, 1, { inMs: 5_000 });
  expect(await wakeForNext(outbox.system, endpoint, undefined)).toBe(outbox.nowMs() + 5_000);
  const until = new Date(outbox.nowMs() + 6_000).toISOString();
  await sql()`UPDATE webhook_endpoints SET paused_until = ${until}::timestamptz WHERE id = ${endpoint}`;
  expect(await wakeForNext(outbox.system, endpoint, undefined)).toBe(outbox.nowMs() + 6_000);
  expect(await wokenEndpoints()).toEqual([endpoint]);
});

test("a pace is remembered, and not forgotten where none was learnt", async () => {
  const endpoint = await outbox.endpoint();
  const pace = async () =>
    (await sql()<{ pace: number | null }[]>`SELECT pace FROM webhook_endpoints WHERE id = ${endpoint}`)[0]?.pace;
  await wakeForNext(outbox.system, endpoint, 12.5);
  expect(await pace()).toBe(12.5);
  await wakeForNext(outbox.system, endpoint, undefined);
  expect(await pace()).toBe(12.5);
  await wakeForNext(outbox.system, endpoint, null);
  expect(await pace()).toBeNull();
});

test("events go after 30 days with their deliveries and attempts, in batches, and younger ones stay", async () => {
  const endpoint = await outbox.endpoint();
  await outbox.fill(endpoint, 2_500);
  await outbox.claim(endpoint);
  outbox.tests.clock.advance(30 * DAY_MS);
  const young = await outbox.fill(endpoint, 2);
  expect(await pruneWebhooks(outbox.system, NOT_STOPPING)).toBe(0);
  outbox.tests.clock.advance(1);
  expect(await pruneWebhooks(outbox.system, NOT_STOPPING)).toBe(2_500);
  expect((await outbox.deliveries(endpoint)).map(({ id }) => id).sort()).toEqual(young.sort());
  expect(await outbox.attempts(endpoint)).toEqual([]);
});

test("pruning stops between batches when the process does", async () => {
  const endpoint = await outbox.endpoint();
  await outbox.fill(endpoint, 10);
  outbox.tests.clock.advance(31 * DAY_MS);
  expect(await pruneWebhooks(outbox.system, AbortSignal.abort())).toBe(0);
  expect(await outbox.deliveries(endpoint)).toHaveLength(10);
});
