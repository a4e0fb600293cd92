import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { expectEnvelope } from "../support/expect-errors.ts";
import { type Owner, signUpOwner } from "../support/organizations.ts";
import { startTestQuayside, type TestQuayside } from "../support/quayside.ts";
import { connectTo } from "../support/sql.ts";
import {
  createEndpoint,
  NO_SUCH_ID,
  readDelivery,
  type StoredDelivery,
  storeDeliveries,
  TIME,
  UUID,
  WEBHOOKS,
  wakeUps,
} from "../support/webhooks.ts";

let quayside: TestQuayside;
let sql: ReturnType<typeof connectTo>;
let owner: Owner;

beforeAll(async () => {
  quayside = await startTestQuayside({}, "api");
  sql = connectTo(quayside.databaseUrl);
  owner = await signUpOwner(quayside, "owner");
});

afterAll(async () => {
  await sql?.end();
  await quayside?.stop();
});

const endpoint = async (fields: object = {}) => (await createEndpoint(quayside, owner.token, fields)).id;
const read = (id: string, query = "", token = owner.token) =>
  quayside.call("GET", `${WEBHOOKS}/${id}${query}`, { token });
const post = (path: string, body?: object, headers: Record<string, string> = {}) =>
  quayside.call("POST", `${WEBHOOKS}/${path}`, { token: owner.token, headers, ...(body ? { body } : {}) });
const resend = (id: string, deliveryId: string) => post(`${id}/deliveries/${deliveryId}/resend`);
const disable = (id: string) => sql`UPDATE webhook_endpoints SET status = 'disabled' WHERE id = ${id}`;
const store = (id: string, deliveries: StoredDelivery[]) => storeDeliveries(sql, owner, id, deliveries);
const idsOf = (reply: { body: { deliveries: { id: string }[] } }) => reply.body.deliveries.map(({ id }) => id);

async function walk(id: string, query: string): Promise<string[]> {
  const ids: string[] = [];
  let cursor = "";
  do {
    const reply = await read(id, `?${query}${cursor}`);
    expect(reply.status, reply.text).toBe(200);
    ids.push(...idsOf(reply));
    cursor = reply.body.deliveriesCursor === null ? "" : `&cursor=${reply.body.deliveriesCursor}`;
  } while (cursor !== "" && ids.length < 1_000);
  return ids;
}

describe("the history of deliveries", () => {
  test("shows each delivery with its attempts in order", async () => {
    const id = await endpoint();
    const at = "2026-03-01T12:00:00.000Z";
    const [deliveryId] = await store(id, [{ status: "failed", type: "sync.failed", attempts: 2, at }]);
    const reply = await read(id);
    const attempt = {
      at,
      statusCode: 500,
      durationMs: 12,
      error: "The receiver answered 500.",
      errorClass: null,
      responseBody: "no",
      truncated: false,
      address: "192.0.2.1",
      timings: { dnsMs: 1, connectMs: 2, tlsMs: 3, firstByteMs: 4 },
    };
    expect(reply.body.deliveries).toEqual([
      {
        id: deliveryId,
        eventId: expect.stringMatching(UUID),
        type: "sync.failed",
        status: "failed",
        attempts: [
          { ...attempt, attempt: 1 },
          { ...attempt, attempt: 2 },
        ],
        nextAttemptAt: null,
        createdAt: at,
      },
    ]);
  });

  test("shows when the next attempt is due, and one that is under way", async () => {
    const id = await endpoint();
    const [deliveryId = ""] = await store(id, [{ status: "pending" }]);
    await sql`UPDATE webhook_attempts SET status_code = NULL, duration_ms = NULL, timings = NULL, error = NULL,
      response_body = NULL, address = NULL WHERE delivery_id = ${deliveryId}`;
    const [delivery] = (await read(id)).body.deliveries;
    expect(delivery).toMatchObject({ status: "pending", nextAttemptAt: expect.stringMatching(TIME) });
    expect(delivery.attempts).toMatchObject([{ attempt: 1, statusCode: null, durationMs: null, timings: null }]);
  });

  test("shows the newest 20 attempts of a delivery that was sent again often", async () => {
    const id = await endpoint();
    await store(id, [{ status: "failed", attempts: 25 }]);
    const [{ attempts }] = (await read(id)).body.deliveries;
    expect(attempts.map(({ attempt }: { attempt: number }) => attempt)).toEqual(
      Array.from({ length: 20 }, (_, index) => index + 6),
    );
  });

  test("begins with the latest 50 and goes on by cursor, with nothing lost or twice", async () => {
    const id = await endpoint();
    const statuses = ["delivered", "failed", "pending", "cancelled", "delivered"];
    // Several at the same time, so that a page can end between them.
    const stored = await store(
      id,
      Array.from({ length: 60 }, (_, n) => ({
        status: statuses[n % 5] ?? "failed",
        attempts: 0,
        at: `2026-03-01T12:00:${String(Math.floor(n / 4)).padStart(2, "0")}.000Z`,
      })),
    );
    const other = await endpoint();
    await store(other, [{}]);
    const first = await read(id);
    expect(first.body.deliveries).toHaveLength(50);
    const all = await walk(id, "limit=7");
    expect(all.slice(0, 50)).toEqual(idsOf(first));
    expect([...all].sort()).toEqual([...stored].sort());
    const times = (await read(id, "?limit=200")).body.deliveries.map((one: { createdAt: string }) => one.createdAt);
    expect(times).toEqual([...times].sort().reverse());
    expect((await read(id, "?limit=60")).body.deliveriesCursor).toBeNull();
    for (const [status, count] of [
      ["delivered", 24],
      ["failed", 12],
      ["pending", 12],
      ["cancelled", 12],
    ] as const) {
      const found = await walk(id, `limit=5&status=${status}`);
      expect(found).toEqual(all.filter((one) => stored.indexOf(one) >= 0 && statusOf(stored, one) === status));
      expect(found).toHaveLength(count);
    }
    function statusOf(ids: string[], one: string): string | undefined {
      return statuses[ids.indexOf(one) % 5];
    }
  });

  test("is not disturbed by deliveries that come during a walk", async () => {
    const id = await endpoint();
    const stored = await store(
      id,
      Array.from({ length: 4 }, (_, n) => ({ at: `2026-03-01T12:00:0${n}.000Z` })),
    );
    const first = await read(id, "?limit=2");
    await store(id, [{}]);
    const rest = await read(id, `?limit=2&cursor=${first.body.deliveriesCursor}`);
    expect([...idsOf(first), ...idsOf(rest)]).toEqual([...stored].reverse());
  });

  test("refuses the cursor of another webhook, another status or another organization", async () => {
    const [id, other] = [await endpoint(), await endpoint()];
    await store(id, [{}, {}]);
    const cursor = (await read(id, "?limit=1")).body.deliveriesCursor;
    expectEnvelope(await read(other, `?cursor=${cursor}`), 422, "invalid_cursor");
    expectEnvelope(await read(id, `?cursor=${cursor}&status=delivered`), 422, "invalid_cursor");
    expect((await read(id, `?cursor=${cursor}&limit=200`)).status).toBe(200);
    const stranger = await signUpOwner(quayside, "cursor-thief");
    expectEnvelope(await read(id, `?cursor=${cursor}`, stranger.token), 404, "not_found");
  });
});

describe("a test event", () => {
  test("is one delivery to this webhook alone, whatever it listens to", async () => {
    const id = await endpoint({ events: ["sync.failed"] });
    const other = await endpoint();
    const reply = await post(`${id}/test`);
    expect([reply.status, reply.body]).toEqual([202, { deliveryId: expect.stringMatching(UUID) }]);
    const { deliveryId } = reply.body;
    expect((await read(id)).body.deliveries).toMatchObject([
      { id: deliveryId, type: "webhook.test", status: "pending", attempts: [] },
    ]);
    const [event] = await sql`SELECT e.type, e.area, e.organization_id AS organization, e.data FROM webhook_events e
      JOIN webhook_deliveries d ON d.event_id = e.id WHERE d.id = ${deliveryId}`;
    expect(event).toEqual({
      type: "webhook.test",
      area: "organization",
      organization: owner.organizationId,
      data: { message: expect.stringMatching(/This is a test/), endpointId: id },
    });
    expect(await readDelivery(sql, deliveryId)).toMatchObject({ maxAttempts: 4, priority: 0 });
    expect(await wakeUps(sql, id)).toBe(1);
    expect((await read(other)).body.deliveries).toEqual([]);
  });

  test("ends a pause, and is refused with 409 while the webhook is disabled", async () => {
    const id = await endpoint();
    await sql`UPDATE webhook_endpoints SET paused_until = now() + interval '1 hour' WHERE id = ${id}`;
    expect((await post(`${id}/test`)).status).toBe(202);
    const [row] = await sql`SELECT paused_until FROM webhook_endpoints WHERE id = ${id}`;
    expect(row?.paused_until).toBeNull();
    await disable(id);
    expectEnvelope(await post(`${id}/test`), 409, "conflict", "The webhook is disabled; enable it first.");
    expect((await read(id)).body.deliveries).toHaveLength(1);
  });

  test("is sent once for a repeated Idempotency-Key, which counts for one webhook", async () => {
    const [id, other] = [await endpoint(), await endpoint()];
    const headers = { "idempotency-key": "test-1" };
    const first = await post(`${id}/test`, undefined, headers);
    expect((await post(`${id}/test`, undefined, headers)).text).toBe(first.text);
    expect((await read(id)).body.deliveries).toHaveLength(1);
    expectEnvelope(await post(`${other}/test`, undefined, headers), 409, "idempotency_key_reused");
  });
});

describe("sending again", () => {
  test.each([
    ["delivered", 1],
    ["failed", 4],
    ["cancelled", 0],
    ["failed", 9],
  ])("makes a %s delivery with %i attempts pending, with retries of its own", async (status, attempts) => {
    const id = await endpoint();
    const [deliveryId = ""] = await store(id, [{ status, attempts }]);
    await sql`UPDATE webhook_deliveries SET finished_at = now(), priority = 1 WHERE id = ${deliveryId}`;
    const before = Date.now();
    const reply = await resend(id, deliveryId);
    expect([reply.status, reply.body]).toEqual([202, { deliveryId }]);
    const row = await readDelivery(sql, deliveryId);
    expect(row).toMatchObject({
      status: "pending",
      attempts,
      maxAttempts: attempts + 4,
      priority: 0,
      finishedAt: null,
    });
    expect(row.nextAttemptAt?.getTime()).toBeGreaterThanOrEqual(before - 1);
    expect(row.nextAttemptAt?.getTime()).toBeLessThanOrEqual(Date.now());
    expect(await wakeUps(sql, id)).toBe(1);
    const [shown] = (await read(id)).body.deliveries;
    expect(shown).toMatchObject({ id: deliveryId, status: "pending" });
    expect(shown.attempts).toHaveLength(attempts);
  });

  test("is 409 while the delivery is pending, also when it is asked for many times at once", async () => {
    const id = await endpoint();
    const [deliveryId = ""] = await store(id, [{ status: "failed" }]);
    const replies = await Promise.all(Array.from({ length: 5 }, () => resend(id, deliveryId)));
    expect(replies.map(({ status }) => status).sort()).toEqual([202, 409, 409, 409, 409]);
    expectEnvelope(await resend(id, deliveryId), 409, "conflict", /on its way already/);
    expect(await readDelivery(sql, deliveryId)).toMatchObject({ maxAttempts: 5 });
  });

  test("is 409 while the webhook is disabled, and changes nothing", async () => {
    const id = await endpoint();
    const [deliveryId = ""] = await store(id, [{ status: "failed" }]);
    await disable(id);
    expectEnvelope(await resend(id, deliveryId), 409, "conflict", "The webhook is disabled; enable it first.");
    expect((await readDelivery(sql, deliveryId)).status).toBe("failed");
  });

  test("is 404 for an unknown delivery and for another webhook's", async () => {
    const [id, other] = [await endpoint(), await endpoint()];
    const [deliveryId = ""] = await store(other, [{ status: "failed" }]);
    const message = `This webhook has no delivery with the id ${deliveryId}.`;
    expectEnvelope(await resend(id, deliveryId), 404, "not_found", message);
    for (const unknown of [NO_SUCH_ID, "nope", "a%2Fb"]) expectEnvelope(await resend(id, unknown), 404, "not_found");
    expect((await readDelivery(sql, deliveryId)).status).toBe("failed");
  });
});
