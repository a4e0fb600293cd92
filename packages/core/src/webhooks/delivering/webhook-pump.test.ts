import { afterEach, beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { until } from "../../../../../test/support/until.ts";
import { type Answer, accept, hang, openReceiver, timesById } from "../../../../../test/support/webhook-receiver.ts";
import { WebhookSender } from "../sending/webhook-sender.ts";
import { LEASE_MS, type Outbox, openOutbox } from "./testing/outbox.ts";
import { type DeliveryStep, WebhookPump } from "./webhook-pump.ts";

const TIMEOUT_MS = 15_000;
const NEVER = new Promise<never>(() => {});

let outbox: Outbox;

beforeEach(async () => {
  outbox = await openOutbox({ WEBHOOK_TIMEOUT_MS: `${TIMEOUT_MS}`, WEBHOOK_RETRY_BASE_MS: "1000" });
});

afterEach(() => outbox?.tests.close());

const sql = () => outbox.tests.services.db.sql;

/** A pump as another process would have it; one that is to die is left where it stands. */
function pumpOf(onStep?: (step: DeliveryStep) => Promise<void>): WebhookPump {
  const sender = new WebhookSender({ allowPrivateNetworks: true, requireHttps: false, timeoutMs: TIMEOUT_MS });
  onTestFinished(() => sender.close());
  return new WebhookPump(outbox.system, { sender, onStep });
}

/** A pump that stands still for ever at a step, as if its process had been killed there. */
function dyingPump(at: DeliveryStep): { pump: WebhookPump; died: Promise<void> } {
  const { promise: died, resolve } = Promise.withResolvers<void>();
  const pump = pumpOf((step) => {
    if (step !== at) return Promise.resolve();
    resolve();
    return NEVER;
  });
  return { pump, died };
}

async function receiverOf(answer: Answer = accept) {
  const receiver = await openReceiver(answer);
  onTestFinished(() => receiver.stop());
  return receiver;
}

async function statuses(endpoint: string): Promise<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (const { status } of await outbox.deliveries(endpoint)) counts[status] = (counts[status] ?? 0) + 1;
  return counts;
}

const untilDelivered = (endpoint: string, count: number) =>
  until(`${count} are delivered`, async () => (await statuses(endpoint)).delivered === count);

describe("a process that dies", () => {
  test("after it claimed: sent by another when the lease is over, and the attempt does not count", async () => {
    const receiver = await receiverOf();
    const endpoint = await outbox.endpoint(receiver.url);
    await outbox.fill(endpoint, 5);
    const { pump, died } = dyingPump("claimed");
    pump.wake(endpoint);
    await died;
    expect(receiver.received).toEqual([]);
    outbox.tests.clock.advance(LEASE_MS);
    pumpOf().wake(endpoint);
    await untilDelivered(endpoint, 5);
    expect(await outbox.deliveries(endpoint)).toMatchObject(Array(5).fill({ attempts: 2, maxAttempts: 5 }));
    expect(receiver.received).toHaveLength(5);
  });

  test("after it sent and before it recorded: sent again under the same id, and recorded once", async () => {
    const receiver = await receiverOf();
    const endpoint = await outbox.endpoint(receiver.url);
    await outbox.fill(endpoint, 5);
    const { pump, died } = dyingPump("sent");
    pump.wake(endpoint);
    await died;
    await until("all were sent", () => receiver.received.length === 5);
    outbox.tests.clock.advance(LEASE_MS);
    pumpOf().wake(endpoint);
    await untilDelivered(endpoint, 5);
    expect([...timesById(receiver).values()]).toEqual([2, 2, 2, 2, 2]);
    const bodies = new Map(receiver.received.map(({ id, body }) => [id, body]));
    for (const { id, body } of receiver.received) expect(body).toBe(bodies.get(id));
    const ended = (await outbox.attempts(endpoint)).filter(({ durationMs }) => durationMs !== null);
    expect(ended).toHaveLength(5);
  });

  test("after it recorded: nothing is sent again", async () => {
    const receiver = await receiverOf();
    const endpoint = await outbox.endpoint(receiver.url);
    await outbox.fill(endpoint);
    const { pump, died } = dyingPump("recorded");
    pump.wake(endpoint);
    await died;
    outbox.tests.clock.advance(10 * LEASE_MS);
    const next = pumpOf();
    next.wake(endpoint);
    await next.stop(0);
    expect(await statuses(endpoint)).toEqual({ delivered: 1 });
    expect(receiver.received).toHaveLength(1);
  });

  test("four times, at the same delivery: it still has all its attempts", async () => {
    const receiver = await receiverOf(() => ({ status: 500 }));
    const endpoint = await outbox.endpoint(receiver.url);
    await outbox.fill(endpoint);
    for (let death = 0; death < 4; death++) {
      const { pump, died } = dyingPump("sent");
      pump.wake(endpoint);
      await died;
      outbox.tests.clock.advance(LEASE_MS);
    }
    for (let attempt = 0; attempt < 4; attempt++) {
      const pump = pumpOf();
      pump.wake(endpoint);
      await until("it has been refused once more", async () => {
        const ended = (await outbox.attempts(endpoint)).filter(({ durationMs }) => durationMs !== null);
        return ended.length === attempt + 1;
      });
      await pump.stop(0);
      expect(await statuses(endpoint)).toEqual(attempt < 3 ? { pending: 1 } : { failed: 1 });
      outbox.tests.clock.advance(1_000_000);
    }
  });
});

describe("a pump", () => {
  test("sends what is woken at whatever moment, also while it looks for the last time", async () => {
    const receiver = await receiverOf();
    const endpoint = await outbox.endpoint(receiver.url);
    const pump = pumpOf();
    for (let round = 1; round <= 150; round++) {
      await outbox.fill(endpoint);
      pump.wake(endpoint);
      // Of each round another phase of the one before.
      if (round % 3 === 0) await until("it is sent", () => receiver.received.length >= round);
      if (round % 7 === 0) await untilDelivered(endpoint, round);
    }
    await untilDelivered(endpoint, 150);
    expect(receiver.received).toHaveLength(150);
  });

  test("in two processes at once sends nothing twice", async () => {
    const receiver = await receiverOf();
    const endpoint = await outbox.endpoint(receiver.url);
    await outbox.fill(endpoint, 500);
    for (const pump of [pumpOf(), pumpOf()]) pump.wake(endpoint);
    await untilDelivered(endpoint, 500);
    expect(receiver.received).toHaveLength(500);
    expect(timesById(receiver).size).toBe(500);
  });

  test("that stops ends what is under way, gives back the rest, and has another process woken", async () => {
    const receiver = await receiverOf(hang);
    const endpoint = await outbox.endpoint(receiver.url);
    await outbox.fill(endpoint, 50);
    const pump = pumpOf();
    pump.wake(endpoint);
    await until("20 are open", () => receiver.open === 20);
    await sql()`DELETE FROM graphile_worker._private_jobs`;
    await pump.stop(100);
    const rows = await outbox.deliveries(endpoint);
    expect(rows.every(({ status, nextAttemptAt }) => status === "pending" && nextAttemptAt === outbox.nowMs())).toBe(
      true,
    );
    // Of the requests that were cut off nobody knows what they did; the others have not been.
    expect(await outbox.attempts(endpoint)).toHaveLength(20);
    expect(await sql()`SELECT 1 FROM graphile_worker._private_jobs`).toHaveLength(1);
    receiver.answer = accept;
    pumpOf().wake(endpoint);
    await untilDelivered(endpoint, 50);
    expect([...timesById(receiver).values()].reduce((sum, times) => sum + times)).toBe(70);
  });

  test("that stops records what is answered within its grace", async () => {
    const answered = Promise.withResolvers<void>();
    const receiver = await receiverOf();
    const endpoint = await outbox.endpoint(receiver.url);
    await outbox.fill(endpoint);
    const pump = pumpOf((step) => (step === "sent" ? answered.promise : Promise.resolve()));
    pump.wake(endpoint);
    await until("it is sent", () => receiver.received.length === 1);
    const stopped = pump.stop(5_000);
    answered.resolve();
    await stopped;
    expect(await statuses(endpoint)).toEqual({ delivered: 1 });
  });

  test("that stops in the middle of many gives back also what it claimed ahead", async () => {
    const receiver = await receiverOf();
    const endpoint = await outbox.endpoint(receiver.url);
    await outbox.fill(endpoint, 3_000);
    const pump = pumpOf();
    pump.wake(endpoint);
    await until("a part has arrived", () => receiver.received.length > 700);
    await pump.stop(5_000);
    const rows = await outbox.deliveries(endpoint);
    const delivered = rows.filter(({ status }) => status === "delivered");
    expect(delivered).toHaveLength(receiver.received.length);
    expect(delivered.length).toBeLessThan(3_000);
    for (const row of rows.filter(({ status }) => status === "pending")) {
      expect(row).toMatchObject({ attempts: 0, maxAttempts: 4, nextAttemptAt: outbox.nowMs() });
    }
    expect(await outbox.attempts(endpoint)).toHaveLength(delivered.length);
  });

  test("whose work at an endpoint broke off comes back to it by itself", async () => {
    const receiver = await receiverOf();
    const endpoint = await outbox.endpoint(receiver.url);
    await outbox.fill(endpoint);
    const [kept] = await sql()<{ secret: Buffer }[]>`SELECT secret FROM webhook_endpoints WHERE id = ${endpoint}`;
    await sql()`UPDATE webhook_endpoints SET secret = 'unreadable' WHERE id = ${endpoint}`;
    let broken = 0;
    outbox.system.log.error = () => void broken++;
    pumpOf().wake(endpoint);
    await until("it has broken off", () => broken > 0);
    await sql()`UPDATE webhook_endpoints SET secret = ${kept?.secret ?? ""} WHERE id = ${endpoint}`;
    await untilDelivered(endpoint, 1);
    expect(receiver.received).toHaveLength(1);
  });

  test("that was told to stop begins nothing new", async () => {
    const receiver = await receiverOf();
    const endpoint = await outbox.endpoint(receiver.url);
    await outbox.fill(endpoint);
    const pump = pumpOf();
    await pump.stop(0);
    pump.wake(endpoint);
    expect(await statuses(endpoint)).toEqual({ pending: 1 });
    expect(receiver.received).toEqual([]);
  });

  test("goes on where one step breaks off, and sends the delivery again when its lease is over", async () => {
    const receiver = await receiverOf();
    const endpoint = await outbox.endpoint(receiver.url);
    await outbox.fill(endpoint, 3);
    let broken = 0;
    const pump = pumpOf(async (step) => {
      if (step === "sent" && broken++ === 0) throw new Error("broken");
    });
    pump.wake(endpoint);
    await untilDelivered(endpoint, 2);
    outbox.tests.clock.advance(LEASE_MS);
    pump.wake(endpoint);
    await untilDelivered(endpoint, 3);
    expect(receiver.received).toHaveLength(4);
  });

  test("opens at most 60 requests of an organization at once, however many of its endpoints hang", async () => {
    const receiver = await receiverOf(hang);
    const endpoints = await Promise.all([1, 2, 3, 4].map(() => outbox.endpoint(receiver.url)));
    const pump = pumpOf();
    for (const endpoint of endpoints) {
      await outbox.fill(endpoint, 30);
      pump.wake(endpoint);
    }
    await until("60 are open", () => receiver.open === 60);
    await pump.stop(200);
    expect(receiver.received).toHaveLength(60);
  });
});
