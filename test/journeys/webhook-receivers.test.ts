import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { startTestQuayside, type TestQuayside } from "../support/quayside.ts";
import { connectTo } from "../support/sql.ts";
import { until } from "../support/until.ts";
import {
  attemptsOf,
  deliveriesOf,
  type Subscriber,
  signUpSubscriber,
  sweep,
  untilDeliveries,
} from "../support/webhook-deliveries.ts";
import { type Answer, accept, hang, openReceiver, type Receiver, timesById } from "../support/webhook-receiver.ts";

const TIMEOUT_MS = 500;

let quayside: TestQuayside;
let sql: ReturnType<typeof connectTo>;
let subscriber: Subscriber;
let signUps = 0;

beforeAll(async () => {
  quayside = await startTestQuayside({ WEBHOOK_RETRY_BASE_MS: "50", WEBHOOK_TIMEOUT_MS: `${TIMEOUT_MS}` });
  sql = connectTo(quayside.databaseUrl);
});

afterAll(async () => {
  await sql?.end();
  await quayside?.stop();
});

async function receiverOf(answer: Answer = accept): Promise<Receiver> {
  const receiver = await openReceiver(answer);
  onTestFinished(() => receiver.stop());
  return receiver;
}

async function subscribed(answer: Answer): Promise<{ receiver: Receiver; webhookId: string }> {
  subscriber = await signUpSubscriber(quayside, `subscriber${++signUps}`);
  const receiver = await receiverOf(answer);
  return { receiver, webhookId: await subscriber.subscribe(receiver.url) };
}

const firstThen =
  (first: ReturnType<Answer>, count = 1): Answer =>
  (received, earlier) =>
    earlier.length < count ? first : accept(received, earlier);

async function endpointRow(webhookId: string) {
  const [row] = await sql<
    { status: string; reason: string | null; failing: boolean; paused: boolean; pace: number | null }[]
  >`
    SELECT status, disabled_reason AS reason, failing_since IS NOT NULL AS failing,
      coalesce(paused_until > now(), false) AS paused, pace
    FROM webhook_endpoints WHERE id = ${webhookId}`;
  if (!row) throw new Error(`There is no webhook ${webhookId}.`);
  return row;
}

/** Ends the rest of an endpoint, as if its time were over. */
async function endRest(webhookId: string): Promise<void> {
  await until("the endpoint rests", async () => (await endpointRow(webhookId)).paused);
  await sql`UPDATE webhook_endpoints SET paused_until = now() WHERE id = ${webhookId}`;
  await sweep(sql);
}

describe("a receiver that", () => {
  test("answers 410 is disabled, what waits for it is cancelled, and the other endpoints are told", async () => {
    const { receiver, webhookId } = await subscribed(hang);
    const other = await receiverOf();
    const watching = await subscriber.subscribe(other.url, ["*"]);
    await subscriber.emit(25);
    await until("20 requests are open", () => receiver.open === 20);
    receiver.answer = () => ({ status: 410 });
    await until("the webhook is disabled", async () => (await endpointRow(webhookId)).status === "disabled");
    expect(await endpointRow(webhookId)).toMatchObject({ reason: "The receiver answered 410 Gone." });
    const statuses = await until("nothing is pending", async () => {
      const rows = await deliveriesOf(sql, webhookId);
      return rows.every(({ status }) => status !== "pending") && rows.map(({ status }) => status);
    });
    expect(new Set(statuses)).toEqual(new Set(["cancelled", "failed"]));
    await untilDeliveries(sql, watching, "delivered", 26);
    const told = other.received.map(({ body }) => JSON.parse(body)).filter(({ type }) => type !== "person.created");
    expect(told).toMatchObject([
      {
        type: "webhook.endpoint_disabled",
        data: { endpointId: webhookId, url: receiver.url, reason: "The receiver answered 410 Gone." },
      },
    ]);
  });

  test("answers 429 with Retry-After is left alone until then, by other deliveries too", async () => {
    const { receiver, webhookId } = await subscribed(firstThen({ status: 429, headers: { "retry-after": "1" } }));
    await subscriber.emit();
    await until("it rests", async () => (await endpointRow(webhookId)).paused);
    await subscriber.emit();
    await untilDeliveries(sql, webhookId, "delivered", 2);
    const [first, second] = receiver.received.map(({ at }) => at);
    expect((second ?? 0) - (first ?? 0)).toBeGreaterThanOrEqual(1_000);
    expect(receiver.received).toHaveLength(3);
  });

  test("hangs is given up at the time-out, and tried again", async () => {
    const { receiver, webhookId } = await subscribed(firstThen(null));
    await subscriber.emit();
    const [delivery] = await untilDeliveries(sql, webhookId, "delivered");
    const [first, second] = await attemptsOf(sql, delivery?.id ?? "");
    expect(first).toMatchObject({ statusCode: null, errorClass: "timeout", error: expect.stringContaining("500 ms") });
    expect(first?.durationMs).toBeGreaterThanOrEqual(TIMEOUT_MS - 5);
    expect(second).toMatchObject({ attempt: 2, statusCode: 200 });
    expect(receiver.received).toHaveLength(2);
  });

  test("sends a status and no end of its body has not accepted", async () => {
    const { receiver, webhookId } = await subscribed(firstThen({ status: 200, headers: { "content-length": "9" } }));
    await subscriber.emit();
    const [delivery] = await untilDeliveries(sql, webhookId, "delivered");
    const [first] = await attemptsOf(sql, delivery?.id ?? "");
    expect(first).toMatchObject({ statusCode: 200, error: expect.any(String) });
    expect(["timeout", "reset"]).toContain(first?.errorClass);
    expect(receiver.received).toHaveLength(2);
  });

  test("hangs on one delivery does not hold up the retry of another", async () => {
    const { receiver, webhookId } = await subscribed(accept);
    let hung = "";
    receiver.answer = ({ id }, earlier) => {
      if (earlier.length === 0) hung = id;
      if (id === hung) return null;
      return earlier.some((one) => one.id === id) ? { status: 200 } : { status: 500 };
    };
    await subscriber.emit(2);
    await untilDeliveries(sql, webhookId, "delivered");
    // The retry was due after 60 ms at most; the time-out of the other is eight times that.
    const [first] = receiver.received;
    const retry = receiver.received.find(({ id }, index) => id !== hung && index > 1);
    expect((retry?.at ?? 0) - (first?.at ?? 0)).toBeLessThan(TIMEOUT_MS - 50);
  });

  test("redirects is not followed, and has refused", async () => {
    const target = await receiverOf();
    const { receiver, webhookId } = await subscribed(firstThen({ status: 307, headers: { location: target.url } }));
    await subscriber.emit();
    const [delivery] = await untilDeliveries(sql, webhookId, "delivered");
    expect(target.received).toEqual([]);
    expect(receiver.received).toHaveLength(2);
    expect(await attemptsOf(sql, delivery?.id ?? "")).toMatchObject([{ statusCode: 307 }, { statusCode: 200 }]);
  });

  test("answers with bytes that are no text does not stop the deliveries to it", async () => {
    const body = "a\0b\u202e\uFFFF";
    const { receiver, webhookId } = await subscribed(firstThen({ status: 500, body }));
    await subscriber.emit();
    const [delivery] = await untilDeliveries(sql, webhookId, "delivered");
    const [first] = await attemptsOf(sql, delivery?.id ?? "");
    expect(first?.responseBody).toBe("a\uFFFDb\uFFFD\uFFFF");
    expect(receiver.received).toHaveLength(2);
  });

  test("has failed for five days is disabled with the next failure; one that was reached in between is not", async () => {
    const { webhookId } = await subscribed(() => ({ status: 500 }));
    const recovered = await receiverOf(firstThen({ status: 500 }));
    const reached = await subscriber.subscribe(recovered.url);
    for (const id of [webhookId, reached]) {
      await sql`UPDATE webhook_endpoints SET failing_since = now() - interval '5 days' WHERE id = ${id}`;
    }
    await sql`UPDATE webhook_endpoints SET failing_since = now() - interval '4 days 23 hours' WHERE id = ${reached}`;
    await subscriber.emit();
    await until("it is disabled", async () => (await endpointRow(webhookId)).status === "disabled");
    expect(await endpointRow(webhookId)).toMatchObject({ reason: "Nothing could be delivered for 5 days." });
    await untilDeliveries(sql, reached, "delivered");
    await until("it is not failing any more", async () => !(await endpointRow(reached)).failing);
    expect(await endpointRow(reached)).toMatchObject({ status: "enabled" });
  });
});

describe("a receiver that is down", () => {
  test("rests after a number of attempts, and gets everything when it is back", async () => {
    const { receiver, webhookId } = await subscribed(accept);
    await receiver.stop();
    await subscriber.emit(200);
    await until("it rests", async () => (await endpointRow(webhookId)).paused);
    const rows = await until("nothing is under way", async () => {
      const all = await deliveriesOf(sql, webhookId);
      const attempts = await Promise.all(all.map(({ id }) => attemptsOf(sql, id)));
      return attempts.flat().every(({ durationMs }) => durationMs !== null) && all;
    });
    expect(rows.filter(({ attempts }) => attempts === 0).length).toBeGreaterThanOrEqual(140);
    const tried = rows.reduce((total, { attempts }) => total + attempts, 0);
    expect(tried).toBeGreaterThanOrEqual(20);
    await receiver.start();
    await endRest(webhookId);
    await untilDeliveries(sql, webhookId, "delivered", 200);
    expect(timesById(receiver).size).toBe(200);
    expect(receiver.received).toHaveLength(200);
  });

  test("and still down after its rest costs one attempt more, and rests again", async () => {
    const { receiver, webhookId } = await subscribed(accept);
    await receiver.stop();
    await subscriber.emit(100);
    await until("it rests", async () => (await endpointRow(webhookId)).paused);
    const attempts = async () => {
      const [row] = await sql<{ attempts: number; open: number }[]>`
        SELECT count(*)::int AS attempts, count(*) FILTER (WHERE a.duration_ms IS NULL)::int AS open
        FROM webhook_attempts a JOIN webhook_deliveries d ON d.id = a.delivery_id WHERE d.endpoint_id = ${webhookId}`;
      return row?.open === 0 && row.attempts;
    };
    const before = await until("nothing is under way", attempts);
    await endRest(webhookId);
    await until("it rests again", async () => (await endpointRow(webhookId)).paused);
    expect(await until("nothing is under way", attempts)).toBe(before + 1);
    await receiver.start();
    await endRest(webhookId);
    await untilDeliveries(sql, webhookId, "delivered", 100);
  });

  test("and hangs does not hold up another organization", async () => {
    const { receiver } = await subscribed(hang);
    await subscriber.emit(300);
    await until("20 requests are open", () => receiver.open === 20);
    const healthy = await subscribed(accept);
    for (let event = 0; event < 20; event++) await subscriber.emit();
    await untilDeliveries(sql, healthy.webhookId, "delivered", 20);
    const late = healthy.receiver.received.map(({ at, body }) => at - Date.parse(JSON.parse(body).createdAt));
    expect(Math.max(...late)).toBeLessThan(TIMEOUT_MS);
  });
});
