import { afterAll, beforeAll, expect, test } from "vitest";
import { bodyOf } from "./attempt-result.ts";
import { cutOffDeliveries, giveBackDeliveries, pauseEndpoint, readSendableEndpoint } from "./claim-deliveries.ts";
import { recordAttempts } from "./record-attempts.ts";
import { LEASE_MS, type Outbox, openOutbox, resultOf } from "./testing/outbox.ts";

let outbox: Outbox;

beforeAll(async () => {
  outbox = await openOutbox();
});

afterAll(() => outbox?.tests.close());

const sql = () => outbox.tests.services.db.sql;

test("what is claimed has its attempt written and is leased, so that no other process gets it", async () => {
  const endpoint = await outbox.endpoint();
  const ids = await outbox.fill(endpoint, 3);
  const [mine, theirs] = await Promise.all([outbox.claim(endpoint, 2), outbox.claim(endpoint, 2)]);
  expect([...mine, ...theirs].map(({ id }) => id).sort()).toEqual(ids.sort());
  expect(await outbox.claim(endpoint)).toEqual([]);
  const stored = await outbox.deliveries(endpoint);
  for (const row of stored) {
    expect(row).toMatchObject({ status: "pending", attempts: 1, nextAttemptAt: outbox.nowMs() + LEASE_MS });
  }
  const attempts = await outbox.attempts(endpoint);
  expect(attempts.map(({ deliveryId }) => deliveryId)).toEqual(ids.sort());
  expect(attempts).toMatchObject([1, 2, 3].map(() => ({ attempt: 1, statusCode: null, durationMs: null })));
});

test("live deliveries come first, then by the time since when they are due, and nothing before its time", async () => {
  const endpoint = await outbox.endpoint();
  const [again] = await outbox.fill(endpoint, 1, { priority: 1, inMs: -9_000 });
  const [newer] = await outbox.fill(endpoint, 1, { inMs: -1_000 });
  const [older] = await outbox.fill(endpoint, 1, { inMs: -2_000 });
  await outbox.fill(endpoint, 1, { inMs: 1 });
  expect((await outbox.claim(endpoint)).map(({ id }) => id)).toEqual([older, newer, again]);
});

test("a limit takes the first of that order", async () => {
  const endpoint = await outbox.endpoint();
  const [first] = await outbox.fill(endpoint, 1, { inMs: -5 });
  await outbox.fill(endpoint, 5);
  expect((await outbox.claim(endpoint, 1)).map(({ id }) => id)).toEqual([first]);
});

test("an attempt that broke off does not count, and its delivery is due again when the lease is over", async () => {
  const endpoint = await outbox.endpoint();
  const [id] = await outbox.fill(endpoint);
  await outbox.claim(endpoint);
  outbox.tests.clock.advance(LEASE_MS - 1);
  expect(await outbox.claim(endpoint)).toEqual([]);
  outbox.tests.clock.advance(1);
  expect(await outbox.claim(endpoint)).toMatchObject([{ id, attempt: 2, maxAttempts: 5 }]);
});

test("an attempt that was refused counts", async () => {
  const endpoint = await outbox.endpoint();
  await outbox.fill(endpoint);
  const [delivery] = await outbox.claim(endpoint);
  if (!delivery) throw new Error("Nothing was claimed.");
  const nextAttemptAt = new Date(outbox.nowMs());
  const refused = resultOf(delivery, { outcome: "retry", nextAttemptAt, statusCode: 500 });
  await recordAttempts(outbox.system, endpoint, [refused]);
  expect(await outbox.claim(endpoint)).toMatchObject([{ attempt: 2, maxAttempts: 4 }]);
});

test("what is given back is due at once, as if it had never been claimed", async () => {
  const endpoint = await outbox.endpoint();
  const [id] = await outbox.fill(endpoint);
  await giveBackDeliveries(outbox.system, endpoint, await outbox.claim(endpoint));
  expect(await outbox.attempts(endpoint)).toEqual([]);
  expect(await outbox.claim(endpoint)).toMatchObject([{ id, attempt: 1, maxAttempts: 4 }]);
});

test("what is given back too late, when another process has it, stays the other's", async () => {
  const endpoint = await outbox.endpoint();
  await outbox.fill(endpoint);
  const late = await outbox.claim(endpoint);
  outbox.tests.clock.advance(LEASE_MS);
  await outbox.claim(endpoint);
  await giveBackDeliveries(outbox.system, endpoint, late);
  await cutOffDeliveries(outbox.system, endpoint, late);
  expect(await outbox.claim(endpoint)).toEqual([]);
  expect(await outbox.deliveries(endpoint)).toMatchObject([{ attempts: 2, nextAttemptAt: outbox.nowMs() + LEASE_MS }]);
});

test("a request that was cut off is due at once, and does not count", async () => {
  const endpoint = await outbox.endpoint();
  const [id] = await outbox.fill(endpoint);
  await cutOffDeliveries(outbox.system, endpoint, await outbox.claim(endpoint));
  expect(await outbox.claim(endpoint)).toMatchObject([{ id, attempt: 2, maxAttempts: 5 }]);
});

test("nothing is claimed for an endpoint that is disabled", async () => {
  const endpoint = await outbox.endpoint();
  await outbox.fill(endpoint);
  await sql()`UPDATE webhook_endpoints SET status = 'disabled' WHERE id = ${endpoint}`;
  expect(await outbox.claim(endpoint)).toEqual([]);
  expect(await readSendableEndpoint(outbox.system, endpoint)).toBeNull();
});

test("the body of a delivery is the same in each attempt, byte for byte", async () => {
  const endpoint = await outbox.endpoint();
  await outbox.fill(endpoint);
  const [first] = await outbox.claim(endpoint);
  outbox.tests.clock.advance(LEASE_MS);
  const [second] = await outbox.claim(endpoint);
  if (!first || !second) throw new Error("Nothing was claimed.");
  expect(bodyOf(second).equals(bodyOf(first))).toBe(true);
  expect(JSON.parse(bodyOf(first).toString())).toEqual({
    id: first.eventId,
    type: "person.created",
    createdAt: new Date(first.occurredAt).toISOString(),
    organizationId: outbox.organizationId,
    data: { a: "ü", b: 1 },
  });
});

test("a rest is as long as the endpoint has been failing: half a minute at least, a quarter of an hour at most", async () => {
  const endpoint = await outbox.endpoint();
  const rests: number[] = [];
  for (const failingSeconds of [null, 1, 100, 86_400]) {
    const since = failingSeconds === null ? null : new Date(outbox.nowMs() - failingSeconds * 1_000).toISOString();
    await sql()`
      UPDATE webhook_endpoints SET failing_since = ${since}::timestamptz, paused_until = NULL WHERE id = ${endpoint}`;
    await pauseEndpoint(outbox.system, endpoint, { hangs: true, until: new Date(0) });
    const [row] = await sql()<{ at: number }[]>`
      SELECT extract(epoch FROM paused_until)::float8 AS at FROM webhook_endpoints WHERE id = ${endpoint}`;
    rests.push((row?.at ?? 0) - outbox.nowMs() / 1_000);
  }
  expect(rests.map(Math.round)).toEqual([30, 30, 100, 900]);
  expect(await readSendableEndpoint(outbox.system, endpoint)).toBeNull();
  outbox.tests.clock.advance(900_000);
  expect(await readSendableEndpoint(outbox.system, endpoint)).toMatchObject({ id: endpoint, rested: true });
});

test("a receiver that asked to be left alone is so until then", async () => {
  const endpoint = await outbox.endpoint();
  await pauseEndpoint(outbox.system, endpoint, { hangs: false, until: new Date(outbox.nowMs() + 5_000) });
  outbox.tests.clock.advance(4_999);
  expect(await readSendableEndpoint(outbox.system, endpoint)).toBeNull();
  outbox.tests.clock.advance(1);
  expect(await readSendableEndpoint(outbox.system, endpoint)).toMatchObject({ rested: false });
});
