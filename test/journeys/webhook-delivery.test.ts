import { createHmac } from "node:crypto";
import { Webhook } from "standardwebhooks";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { startTestQuayside, type TestQuayside } from "../support/quayside.ts";
import { connectTo } from "../support/sql.ts";
import { until } from "../support/until.ts";
import {
  attemptsOf,
  deliveriesOf,
  type Subscriber,
  signUpSubscriber,
  untilDeliveries,
} from "../support/webhook-deliveries.ts";
import {
  type Answer,
  accept,
  openReceiver,
  type Received,
  type Receiver,
  timesById,
} from "../support/webhook-receiver.ts";

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}$/;
const RETRY_BASE_MS = 50;

let quayside: TestQuayside;
let sql: ReturnType<typeof connectTo>;
let subscriber: Subscriber;
let signUps = 0;

beforeAll(async () => {
  quayside = await startTestQuayside({ WEBHOOK_RETRY_BASE_MS: `${RETRY_BASE_MS}`, WEBHOOK_TIMEOUT_MS: "500" });
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

/** Another organization for each test, with a subscription to its new people. */
async function subscribed(answer: Answer = accept): Promise<{ receiver: Receiver; webhookId: string }> {
  subscriber = await signUpSubscriber(quayside, `subscriber${++signUps}`);
  const receiver = await receiverOf(answer);
  return { receiver, webhookId: await subscriber.subscribe(receiver.url) };
}

const failing =
  (failures: number, status = 500): Answer =>
  (_received, earlier) =>
    earlier.length < failures ? { status, body: `no ${earlier.length + 1}` } : { status: 202, body: "at last" };

const signatures = ({ headers, body, id }: Received, secret: string) => {
  const key = Buffer.from(secret.replace("whsec_", ""), "base64");
  const signed = `${id}.${headers["webhook-timestamp"]}.${body}`;
  return {
    service: createHmac("sha256", secret).update(body).digest("hex"),
    standard: `v1,${createHmac("sha256", key).update(signed).digest("base64")}`,
  };
};

describe("a delivery", () => {
  test("arrives once, with the event as its body, and is recorded as delivered", async () => {
    const { receiver, webhookId } = await subscribed();
    await subscriber.emit();
    const [delivery] = await untilDeliveries(sql, webhookId, "delivered");
    expect(receiver.received).toHaveLength(1);
    const [{ id, headers, body } = {} as Received] = receiver.received;
    expect(id).toMatch(UUID);
    expect(JSON.parse(body)).toEqual({
      id,
      type: "person.created",
      createdAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      organizationId: subscriber.organizationId,
      data: { person: expect.objectContaining({ id: expect.any(String) }) },
    });
    expect(headers).toMatchObject({ "content-type": "application/json", "user-agent": "Quayside-Webhooks/1" });
    expect(delivery).toMatchObject({ eventId: id, attempts: 1, nextAttemptAt: null });
    expect(await attemptsOf(sql, delivery?.id ?? "")).toMatchObject([
      { statusCode: 200, errorClass: null, error: null },
    ]);
  });

  test("is signed both ways, for a receiver with the Standard Webhooks library or with an HMAC of its own", async () => {
    const { receiver, webhookId } = await subscribed();
    const secret = await subscriber.secretOf(webhookId);
    await subscriber.emit();
    await untilDeliveries(sql, webhookId, "delivered");
    const [received = {} as Received] = receiver.received;
    const { headers, body } = received;
    const { service, standard } = signatures(received, secret);
    expect(headers).toMatchObject({ "x-service-signature": service, "webhook-signature": standard });
    const asSent = headers as Record<string, string>;
    expect(new Webhook(secret).verify(body, asSent)).toEqual(JSON.parse(body));
    expect(() => new Webhook(secret).verify(`${body} `, asSent)).toThrow();
  });

  test("that is refused twice is sent a third time: one id, equal bytes, and every attempt on record", async () => {
    const { receiver, webhookId } = await subscribed(failing(2));
    await subscriber.emit();
    const [delivery] = await untilDeliveries(sql, webhookId, "delivered");
    expect(receiver.received).toHaveLength(3);
    expect([...timesById(receiver).values()]).toEqual([3]);
    expect(new Set(receiver.received.map(({ body }) => body)).size).toBe(1);
    const complete = {
      durationMs: expect.any(Number),
      errorClass: null,
      truncated: false,
      address: "127.0.0.1",
      timings: expect.objectContaining({ dnsMs: expect.anything(), firstByteMs: expect.any(Number) }),
    };
    const refused = { ...complete, statusCode: 500, error: "The receiver answered 500." };
    const kept = { ...complete, timings: expect.objectContaining({ firstByteMs: expect.any(Number) }) };
    expect(await attemptsOf(sql, delivery?.id ?? "")).toEqual([
      { ...refused, attempt: 1, responseBody: "no 1" },
      { ...refused, ...kept, statusCode: 500, attempt: 2, responseBody: "no 2" },
      { ...kept, attempt: 3, statusCode: 202, error: null, responseBody: "at last" },
    ]);
  });

  test("that is refused four times has failed, and is left at that", async () => {
    const { receiver, webhookId } = await subscribed(failing(99));
    await subscriber.emit();
    const [delivery] = await untilDeliveries(sql, webhookId, "failed");
    expect(delivery).toMatchObject({ attempts: 4, nextAttemptAt: null });
    const times = receiver.received.map(({ at }) => at);
    const pauses = times.slice(1).map((at, index) => at - (times[index] ?? 0));
    expect(pauses).toHaveLength(3);
    // A fifth less is the least that jitter leaves of each.
    for (const [index, pause] of pauses.entries()) {
      expect(pause).toBeGreaterThanOrEqual(RETRY_BASE_MS * 4 ** index * 0.8 - 5);
    }
  });

  test("goes to every endpoint that listens to its type, and to no other", async () => {
    const { receiver, webhookId } = await subscribed();
    const [all, other] = [await receiverOf(), await receiverOf()];
    const listening = await subscriber.subscribe(all.url, ["*"]);
    const deaf = await subscriber.subscribe(other.url, ["company.created"]);
    await subscriber.emit(2);
    await untilDeliveries(sql, webhookId, "delivered", 2);
    await untilDeliveries(sql, listening, "delivered", 2);
    expect(await deliveriesOf(sql, deaf)).toEqual([]);
    expect([...timesById(receiver).keys()].sort()).toEqual([...timesById(all).keys()].sort());
  });

  test("of a change that was rolled back is never sent", async () => {
    const { receiver, webhookId } = await subscribed();
    const operations = [{ op: "upsert", data: { email: "not an address" } }];
    const reply = await quayside.call("POST", "/v1/crm/people/bulk", { token: subscriber.token, body: { operations } });
    expect(reply.text).toContain("invalid");
    await subscriber.emit();
    await untilDeliveries(sql, webhookId, "delivered");
    expect(receiver.received).toHaveLength(1);
  });
});

describe("between two attempts", () => {
  /** A delivery whose next attempt is a good while away. */
  async function waiting() {
    const made = await subscribed(() => ({ status: 500, headers: { "retry-after": "3600" } }));
    await subscriber.emit();
    await until("the first attempt is recorded", async () => {
      const [delivery] = await deliveriesOf(sql, made.webhookId);
      const attempts = delivery ? await attemptsOf(sql, delivery.id) : [];
      return attempts[0]?.statusCode === 500;
    });
    made.receiver.answer = accept;
    const retry = async () => {
      await sql`UPDATE webhook_deliveries SET next_attempt_at = now() WHERE endpoint_id = ${made.webhookId}
        AND status = 'pending'`;
      await sql`SELECT graphile_worker.add_job('webhooks.deliver',
        payload := json_build_object('endpointId', ${made.webhookId}::text))`;
    };
    return { ...made, retry };
  }

  /** Deliveries of others made after it have arrived, so a worker has been by. */
  async function passed(): Promise<void> {
    const [other, receiver] = [await signUpSubscriber(quayside, `passer${++signUps}`), await receiverOf()];
    const webhookId = await other.subscribe(receiver.url);
    await other.emit();
    await untilDeliveries(sql, webhookId, "delivered");
  }

  test("another URL counts", async () => {
    const { receiver, webhookId, retry } = await waiting();
    const moved = await receiverOf();
    await subscriber.change(webhookId, { url: moved.url });
    await retry();
    await untilDeliveries(sql, webhookId, "delivered");
    expect(moved.received.map(({ id }) => id)).toEqual(receiver.received.map(({ id }) => id));
  });

  test("an endpoint that was disabled is left alone", async () => {
    const { receiver, webhookId, retry } = await waiting();
    await subscriber.change(webhookId, { status: "disabled" });
    await retry();
    await passed();
    expect(receiver.received).toHaveLength(1);
  });

  test("an endpoint that was deleted is left alone", async () => {
    const { receiver, webhookId, retry } = await waiting();
    await subscriber.remove(webhookId);
    await retry();
    await passed();
    expect(receiver.received).toHaveLength(1);
    expect(await deliveriesOf(sql, webhookId)).toEqual([]);
  });

  test("a rotated secret counts, and the old one signs too until its time is over", async () => {
    const { receiver, webhookId, retry } = await waiting();
    const old = await subscriber.secretOf(webhookId);
    const rotated = await quayside.call("POST", "/trpc/crm.webhooks.rotateSecret", {
      token: subscriber.token,
      body: { id: webhookId },
    });
    const { secret } = rotated.body.result.data;
    await retry();
    await untilDeliveries(sql, webhookId, "delivered");
    const [, second = {} as Received] = receiver.received;
    const both = [signatures(second, secret), signatures(second, old)];
    expect(second.headers["webhook-signature"]).toBe(both.map(({ standard }) => standard).join(" "));
    expect(second.headers["x-service-signature"]).toBe(both[0]?.service);
    for (const each of [secret, old]) {
      expect(new Webhook(each).verify(second.body, second.headers as Record<string, string>)).toBeTruthy();
    }
    await sql`UPDATE webhook_endpoints SET previous_secret_until = now() WHERE id = ${webhookId}`;
    await subscriber.emit();
    await untilDeliveries(sql, webhookId, "delivered", 2);
    const third = receiver.received[2] ?? ({} as Received);
    expect(third.headers["webhook-signature"]).toBe(signatures(third, secret).standard);
  });
});
