import { withTransaction } from "@quayside/db";
import { afterAll, beforeAll, expect, test } from "vitest";
import { holdLock, waitingSessions } from "../../../../../test/support/held-lock.ts";
import { connectTo } from "../../../../../test/support/sql.ts";
import { disableEndpoint } from "../disable-endpoint.ts";
import { type ClaimedDelivery, cutOffDeliveries, giveBackDeliveries } from "./claim-deliveries.ts";
import { recordAttempts } from "./record-attempts.ts";
import { LEASE_MS, type Outbox, openOutbox, resultOf } from "./testing/outbox.ts";

const DAY_MS = 86_400_000;

let outbox: Outbox;

beforeAll(async () => {
  outbox = await openOutbox();
});

afterAll(() => outbox?.tests.close());

async function claimed(
  count = 1,
): Promise<{ endpoint: string; deliveries: ClaimedDelivery[]; first: ClaimedDelivery }> {
  const endpoint = await outbox.endpoint();
  await outbox.fill(endpoint, count);
  const deliveries = await outbox.claim(endpoint);
  const [first] = deliveries;
  if (!first) throw new Error("Nothing was claimed.");
  return { endpoint, deliveries, first };
}

async function endpointRow(id: string) {
  const [row] = await outbox.tests.services.db.sql<{ status: string; failingSince: number | null }[]>`
    SELECT status, (extract(epoch FROM failing_since) * 1000)::float8 AS "failingSince"
    FROM webhook_endpoints WHERE id = ${id}`;
  return row;
}

const retry = () => ({ outcome: "retry" as const, nextAttemptAt: new Date(outbox.nowMs() + 100), statusCode: 500 });

test("a success ends a delivery", async () => {
  const { endpoint, first } = await claimed();
  await recordAttempts(outbox.system, endpoint, [resultOf(first)]);
  expect(await outbox.deliveries(endpoint)).toMatchObject([{ status: "delivered", attempts: 1, nextAttemptAt: null }]);
  expect(await outbox.attempts(endpoint)).toMatchObject([{ attempt: 1, statusCode: 200, durationMs: 3 }]);
});

test("different results of one batch each go to their own delivery", async () => {
  const { endpoint, deliveries } = await claimed(3);
  const [one, two, three] = deliveries as [ClaimedDelivery, ClaimedDelivery, ClaimedDelivery];
  const failed = resultOf(three, { outcome: "failed", statusCode: 404 });
  await recordAttempts(outbox.system, endpoint, [resultOf(one), resultOf(two, retry()), failed]);
  const rows = new Map((await outbox.deliveries(endpoint)).map((row) => [row.id, row]));
  expect(rows.get(one.id)).toMatchObject({ status: "delivered" });
  expect(rows.get(two.id)).toMatchObject({ status: "pending", nextAttemptAt: outbox.nowMs() + 100 });
  expect(rows.get(three.id)).toMatchObject({ status: "failed", nextAttemptAt: null });
});

test("the result of a lease that has run out changes nothing but its own attempt", async () => {
  const { endpoint, first } = await claimed();
  outbox.tests.clock.advance(LEASE_MS);
  await outbox.claim(endpoint);
  for (const late of [resultOf(first), resultOf(first, retry()), resultOf(first, { outcome: "failed" })]) {
    await recordAttempts(outbox.system, endpoint, [late]);
    expect(await outbox.deliveries(endpoint)).toMatchObject([
      { status: "pending", attempts: 2, nextAttemptAt: outbox.nowMs() + LEASE_MS },
    ]);
  }
});

test("a delivery that is delivered stays so, whatever is recorded later", async () => {
  const { endpoint, first } = await claimed();
  await recordAttempts(outbox.system, endpoint, [resultOf(first)]);
  await recordAttempts(outbox.system, endpoint, [resultOf(first, { outcome: "failed", statusCode: 500 })]);
  expect(await outbox.deliveries(endpoint)).toMatchObject([{ status: "delivered" }]);
});

test("recorded twice is as recorded once", async () => {
  const { endpoint, first } = await claimed();
  const refused = resultOf(first, retry());
  await recordAttempts(outbox.system, endpoint, [refused]);
  const before = await outbox.deliveries(endpoint);
  await recordAttempts(outbox.system, endpoint, [refused]);
  expect(await outbox.deliveries(endpoint)).toEqual(before);
});

test("a 410 disables the endpoint and cancels what waits, also beside a success", async () => {
  const { endpoint, deliveries } = await claimed(3);
  const [one, two] = deliveries as [ClaimedDelivery, ClaimedDelivery];
  const gone = resultOf(two, { outcome: "failed", statusCode: 410 });
  await recordAttempts(outbox.system, endpoint, [resultOf(one), gone]);
  expect(await endpointRow(endpoint)).toMatchObject({ status: "disabled" });
  const statuses = (await outbox.deliveries(endpoint)).map(({ status }) => status);
  expect(statuses.sort()).toEqual(["cancelled", "delivered", "failed"]);
});

test("an attempt under way when its delivery was cancelled is recorded, and the delivery stays cancelled", async () => {
  const { endpoint, first } = await claimed();
  await withTransaction(outbox.system.db, (tx) => disableEndpoint(tx, outbox.system, endpoint, "test"));
  await recordAttempts(outbox.system, endpoint, [resultOf(first)]);
  expect(await outbox.deliveries(endpoint)).toMatchObject([{ status: "cancelled" }]);
  expect(await outbox.attempts(endpoint)).toMatchObject([{ statusCode: 200 }]);
});

test("five days of failures and nothing else disable the endpoint; a success begins the count anew", async () => {
  const { endpoint, deliveries } = await claimed(5);
  const [one, two, three, four, five] = deliveries as [ClaimedDelivery, ...ClaimedDelivery[]];
  const fail = (delivery: ClaimedDelivery | undefined) =>
    recordAttempts(outbox.system, endpoint, delivery ? [resultOf(delivery, retry())] : []);
  const startMs = outbox.nowMs();
  await fail(one);
  expect(await endpointRow(endpoint)).toMatchObject({ failingSince: startMs });
  outbox.tests.clock.advance(5 * DAY_MS - 1);
  await fail(two);
  expect(await endpointRow(endpoint)).toMatchObject({ status: "enabled", failingSince: startMs });
  await recordAttempts(outbox.system, endpoint, three ? [resultOf(three)] : []);
  expect(await endpointRow(endpoint)).toMatchObject({ failingSince: null });
  await fail(four);
  outbox.tests.clock.advance(5 * DAY_MS);
  await fail(five);
  expect(await endpointRow(endpoint)).toMatchObject({ status: "disabled" });
});

test("results and a change of the endpoint do not lock each other out", async () => {
  const { endpoint, deliveries } = await claimed(20);
  const sql = connectTo(outbox.tests.url);
  try {
    // As whoever disables it: the endpoint first, then its deliveries.
    const release = await holdLock(sql, "SELECT 1 FROM webhook_endpoints WHERE id = $1 FOR UPDATE", [endpoint]);
    const recorded = recordAttempts(
      outbox.system,
      endpoint,
      deliveries.map((one) => resultOf(one, retry())),
    );
    await waitingSessions(sql);
    const locked = await sql`SELECT id FROM webhook_deliveries WHERE endpoint_id = ${endpoint} FOR UPDATE NOWAIT`;
    expect(locked).toHaveLength(20);
    await release();
    await recorded;
  } finally {
    await sql.end();
  }
});

test("results, what is given back, and the end of an endpoint never wait for each other in a circle", async () => {
  for (let round = 0; round < 15; round++) {
    const { endpoint, deliveries } = await claimed(60);
    const refused = deliveries.filter((_, index) => index % 3 === 0).map((one) => resultOf(one, retry()));
    const givenBack = deliveries.filter((_, index) => index % 3 === 1);
    const cutOff = deliveries.filter((_, index) => index % 3 === 2);
    // Any deadlock rejects one of them.
    await Promise.all([
      recordAttempts(outbox.system, endpoint, refused),
      giveBackDeliveries(outbox.system, endpoint, givenBack.toReversed()),
      withTransaction(outbox.system.db, (tx) => disableEndpoint(tx, outbox.system, endpoint, "test")),
      cutOffDeliveries(outbox.system, endpoint, cutOff),
    ]);
    const rows = await outbox.deliveries(endpoint);
    expect(rows.every(({ status }) => status === "cancelled")).toBe(true);
  }
});
