import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { holdLock, waitingSessions } from "../support/held-lock.ts";
import { createInstallation, type Installation, type QuaysideProcess } from "../support/quayside-process.ts";
import { connectTo } from "../support/sql.ts";
import { until } from "../support/until.ts";
import {
  deliveriesOf,
  endLeases,
  fillOutbox,
  type Subscriber,
  subscriberOf,
  untilDeliveries,
} from "../support/webhook-deliveries.ts";
import { accept, hang, openReceiver, type Receiver, timesById } from "../support/webhook-receiver.ts";

/** The API runs in a process of its own, so that only the worker dies. */
describe("kill -9 of the worker that delivers webhooks", () => {
  let installation: Installation;
  let worker: QuaysideProcess;
  let subscriber: Subscriber;
  let receiver: Receiver;
  let webhookId: string;
  let sql: ReturnType<typeof connectTo>;

  beforeEach(async () => {
    installation = await createInstallation({ WEBHOOK_TIMEOUT_MS: "5000", WEBHOOK_RETRY_BASE_MS: "50" });
    sql = connectTo(installation.databaseUrl);
    [, worker] = await Promise.all([installation.start("api"), installation.start("worker")]);
    const token = await installation.signIn();
    const whoami = await installation.call("GET", "/api/v1/whoami", { token });
    subscriber = subscriberOf(installation, { token, organizationId: whoami.body.organization.id });
    receiver = await openReceiver();
    webhookId = await subscriber.subscribe(receiver.url);
  });

  afterEach(async () => {
    await receiver?.stop();
    await sql?.end({ timeout: 1 });
    await installation?.remove();
  });

  const attemptRows = () => sql<{ ended: boolean; delivered: boolean }[]>`
    SELECT a.duration_ms IS NOT NULL AS ended, coalesce(a.status_code, 0) BETWEEN 200 AND 299 AS delivered
    FROM webhook_attempts a`;

  /** Another worker, for which the leases of the dead one are over. */
  async function recover(): Promise<void> {
    worker = await installation.start("worker");
    await endLeases(sql);
  }

  /** Each came at least once, under an id of its own, with equal bytes, and one success of it is recorded. */
  async function expectEachDelivered(count: number): Promise<void> {
    const deliveries = await untilDeliveries(sql, webhookId, "delivered", count, 30_000);
    expect(await deliveriesOf(sql, webhookId)).toHaveLength(count);
    expect([...timesById(receiver).keys()].sort()).toEqual(deliveries.map(({ eventId }) => eventId).sort());
    const bodies = new Map(receiver.received.map(({ id, body }) => [id, body]));
    for (const { id, body } of receiver.received) expect(body).toBe(bodies.get(id));
    const attempts = await attemptRows();
    expect(attempts.filter(({ delivered }) => delivered)).toHaveLength(count);
    // Attempts that came to nothing have raised the maximum, each by one.
    const broken = attempts.filter(({ ended }) => !ended).length;
    const raised = deliveries.reduce((sum, { maxAttempts }) => sum + maxAttempts - 4, 0);
    expect(raised).toBe(broken);
  }

  test("in the middle of its claim: nothing is lost", async () => {
    const release = await holdLock(sql, "LOCK TABLE webhook_attempts IN ACCESS EXCLUSIVE MODE");
    await subscriber.emit(10);
    await waitingSessions(sql);
    await worker.crash();
    // The database may carry the dead worker's statement out to its end.
    await release();
    expect(receiver.received).toEqual([]);
    await recover();
    await expectEachDelivered(10);
    expect(receiver.received).toHaveLength(10);
  });

  test("after it claimed: what it did not send is sent by another, and once", async () => {
    // The first goes out at once, and the second waits half a second.
    await sql`UPDATE webhook_endpoints SET pace = 2`;
    await subscriber.emit(2);
    await until("both are claimed and one is sent", async () => {
      return receiver.received.length === 1 && (await attemptRows()).length === 2;
    });
    await worker.crash();
    await recover();
    await expectEachDelivered(2);
    expect(receiver.received.length).toBeLessThanOrEqual(3);
  });

  test("while the receiver works: sent again under the same id", async () => {
    receiver.answer = hang;
    await subscriber.emit(10);
    await until("10 are open", () => receiver.open === 10);
    await worker.crash();
    receiver.answer = accept;
    await recover();
    await expectEachDelivered(10);
    expect([...timesById(receiver).values()]).toEqual(Array(10).fill(2));
  });

  test("after the answer and before it is recorded: sent again, and one success is recorded", async () => {
    receiver.answer = hang;
    await subscriber.emit(3);
    await until("3 are open", () => receiver.open === 3);
    const release = await holdLock(sql, "SELECT 1 FROM webhook_deliveries FOR UPDATE");
    receiver.release({ status: 200 });
    const [waiting] = await waitingSessions(sql);
    await worker.crash();
    await sql`SELECT pg_terminate_backend(${waiting ?? 0})`;
    await release();
    receiver.answer = accept;
    await recover();
    await expectEachDelivered(3);
    expect([...timesById(receiver).values()]).toEqual([2, 2, 2]);
  });

  test("after it recorded: nothing is sent again", async () => {
    await subscriber.emit(10);
    await untilDeliveries(sql, webhookId, "delivered", 10);
    await worker.crash();
    await recover();
    await subscriber.emit();
    await expectEachDelivered(11);
    expect(receiver.received).toHaveLength(11);
  });

  test("again and again under load: nothing is lost", async () => {
    const perRound = 400;
    for (let round = 1; round <= 3; round++) {
      await fillOutbox(sql, webhookId, perRound);
      const enough = (round - 1) * perRound + 50 * round;
      await until("a part has arrived", () => receiver.received.length >= enough);
      await worker.crash();
      await recover();
    }
    await expectEachDelivered(3 * perRound);
    // What was under way at each death, and no more.
    expect(receiver.received.length).toBeLessThanOrEqual(3 * perRound + 3 * 100);
  });

  test("SIGTERM instead: what is under way ends, the rest goes to the next worker at once", async () => {
    receiver.answer = hang;
    await subscriber.emit(30);
    await until("20 are open", () => receiver.open === 20);
    const stopped = worker.stop();
    receiver.answer = accept;
    receiver.release({ status: 200 });
    expect(await stopped).toBe(0);
    expect((await untilDeliveries(sql, webhookId, "delivered", 20)).length).toBe(receiver.received.length);
    worker = await installation.start("worker");
    await expectEachDelivered(30);
    expect(receiver.received).toHaveLength(30);
  });
});

describe("two workers at once", () => {
  test("deliver everything, and nothing twice", async () => {
    const installation = await createInstallation();
    const sql = connectTo(installation.databaseUrl);
    const receiver = await openReceiver();
    try {
      await Promise.all(["api", "worker", "worker"].map((role) => installation.start(role as "api" | "worker")));
      const token = await installation.signIn();
      const whoami = await installation.call("GET", "/api/v1/whoami", { token });
      const subscriber = subscriberOf(installation, { token, organizationId: whoami.body.organization.id });
      const webhookId = await subscriber.subscribe(receiver.url);
      for (let round = 0; round < 40; round++) await fillOutbox(sql, webhookId, 50);
      await untilDeliveries(sql, webhookId, "delivered", 2_000, 30_000);
      expect(timesById(receiver).size).toBe(2_000);
      expect(receiver.received).toHaveLength(2_000);
    } finally {
      await receiver.stop();
      await sql.end({ timeout: 1 });
      await installation.remove();
    }
  });
});
