import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { startTestQuayside, type TestQuayside } from "../support/quayside.ts";
import { connectTo } from "../support/sql.ts";
import { until } from "../support/until.ts";
import { fillOutbox, type Subscriber, signUpSubscriber, untilDeliveries } from "../support/webhook-deliveries.ts";
import { type Answer, accept, hang, openReceiver, type Received, timesById } from "../support/webhook-receiver.ts";

let quayside: TestQuayside;
let sql: ReturnType<typeof connectTo>;
let signUps = 0;

beforeAll(async () => {
  quayside = await startTestQuayside({ WEBHOOK_RETRY_BASE_MS: "200", WEBHOOK_TIMEOUT_MS: "2000" });
  sql = connectTo(quayside.databaseUrl);
});

afterAll(async () => {
  await sql?.end();
  await quayside?.stop();
});

async function subscribed(answer: Answer) {
  const subscriber: Subscriber = await signUpSubscriber(quayside, `subscriber${++signUps}`);
  const receiver = await openReceiver(answer);
  onTestFinished(() => receiver.stop());
  return { subscriber, receiver, webhookId: await subscriber.subscribe(receiver.url) };
}

/** Refuses what comes above so many in any second. */
function limited(perSecond: number, refusals: Received[]): Answer {
  const taken: number[] = [];
  return (received, earlier) => {
    while ((taken[0] ?? received.at) <= received.at - 1_000) taken.shift();
    if (taken.length < perSecond) {
      taken.push(received.at);
      return accept(received, earlier);
    }
    refusals.push(received);
    return { status: 503, body: "too fast" };
  };
}

test("a receiver that refuses more than 300 a second gets 2,000 deliveries, and refuses few after the ramp", async () => {
  const refusals: Received[] = [];
  const { receiver, webhookId } = await subscribed(limited(300, refusals));
  await fillOutbox(sql, webhookId, 2_000);
  await untilDeliveries(sql, webhookId, "delivered", 2_000, 60_000);
  expect(timesById(receiver).size).toBe(2_000);
  const rampEnd = (receiver.received[0]?.at ?? 0) + 2_000;
  const after = (all: readonly Received[]) => all.filter(({ at }) => at > rampEnd).length;
  expect(after(refusals) / after(receiver.received)).toBeLessThanOrEqual(0.05);
  const seconds = ((receiver.received.at(-1)?.at ?? 0) - (receiver.received[0]?.at ?? 0)) / 1_000;
  // At best it would be 6.7.
  expect(seconds).toBeLessThan(20);
});

test("an organization whose receivers hang does not slow down another one", async () => {
  const healthy = await subscribed(accept);
  const late = () =>
    healthy.receiver.received.splice(0).map(({ at, body }) => at - Date.parse(JSON.parse(body).createdAt));
  const p99 = (values: number[]) => values.sort((a, b) => a - b)[Math.floor(values.length * 0.99)] ?? 0;
  const measure = async (sofar: number) => {
    for (let event = 0; event < 60; event++) await healthy.subscriber.emit();
    await untilDeliveries(sql, healthy.webhookId, "delivered", sofar + 60);
    return p99(late());
  };
  await measure(0);
  const alone = await measure(60);
  const hanging = await subscribed(hang);
  for (let endpoint = 0; endpoint < 3; endpoint++) {
    await fillOutbox(sql, await hanging.subscriber.subscribe(hanging.receiver.url), 500);
  }
  await fillOutbox(sql, hanging.webhookId, 500);
  await until("its 60 requests are open", () => hanging.receiver.open === 60);
  const beside = await measure(120);
  expect(beside).toBeLessThan(3 * alone + 150);
});
