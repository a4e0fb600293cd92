import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { expectEnvelope } from "../support/expect-errors.ts";
import { type Owner, signUpOwner } from "../support/organizations.ts";
import { startTestQuayside, type TestQuayside } from "../support/quayside.ts";
import { connectTo } from "../support/sql.ts";
import {
  createEndpoint,
  readDelivery,
  type StoredDelivery,
  storeDeliveries,
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
const post = (path: string, body?: object, headers: Record<string, string> = {}) =>
  quayside.call("POST", `${WEBHOOKS}/${path}`, { token: owner.token, headers, ...(body ? { body } : {}) });
const disable = (id: string) => sql`UPDATE webhook_endpoints SET status = 'disabled' WHERE id = ${id}`;
const store = (id: string, deliveries: StoredDelivery[]) => storeDeliveries(sql, owner, id, deliveries);

describe("recovering", () => {
  const SINCE = "2026-03-01T12:00:00Z";
  const at = (minute: number) => new Date(Date.parse(SINCE) + minute * 60_000).toISOString();

  test("sends again what failed or was cancelled since a time, after live traffic and in order", async () => {
    const id = await endpoint();
    const [early = "", second = "", first = "", done = "", waiting = ""] = await store(id, [
      { status: "failed", at: at(-1) },
      { status: "cancelled", attempts: 0, at: at(10) },
      { status: "failed", attempts: 4, at: at(0) },
      { status: "delivered", at: at(5) },
      { status: "pending", at: at(5) },
    ]);
    const other = await endpoint();
    const [foreign = ""] = await store(other, [{ status: "failed", at: at(5) }]);
    const reply = await post(`${id}/recover`, { since: SINCE });
    expect([reply.status, reply.body]).toEqual([202, { deliveries: 2 }]);
    const [one, two] = [await readDelivery(sql, first), await readDelivery(sql, second)];
    expect(one).toMatchObject({ status: "pending", priority: 1, attempts: 4, maxAttempts: 8, finishedAt: null });
    expect(two).toMatchObject({ status: "pending", priority: 1, attempts: 0, maxAttempts: 4 });
    const due = await sql`SELECT id FROM webhook_deliveries WHERE endpoint_id = ${id} AND priority = 1
      AND next_attempt_at <= now() + interval '1 second' ORDER BY next_attempt_at`;
    expect(due.map((row) => row.id)).toEqual([first, second]);
    expect((await readDelivery(sql, early)).status).toBe("failed");
    expect((await readDelivery(sql, done)).status).toBe("delivered");
    expect(await readDelivery(sql, waiting)).toMatchObject({ status: "pending", priority: 0 });
    expect((await readDelivery(sql, foreign)).status).toBe("failed");
    expect(await wakeUps(sql, id)).toBe(1);
    expect((await post(`${id}/recover`, { since: SINCE })).body).toEqual({ deliveries: 0 });
  });

  test("ends before 'until'", async () => {
    const id = await endpoint();
    const [inside = "", outside = ""] = await store(id, [
      { status: "failed", at: at(1) },
      { status: "failed", at: at(2) },
    ]);
    const reply = await post(`${id}/recover`, { since: "2026-03-01T13:00:00+01:00", until: at(2) });
    expect(reply.body).toEqual({ deliveries: 1 });
    expect((await readDelivery(sql, inside)).status).toBe("pending");
    expect((await readDelivery(sql, outside)).status).toBe("failed");
  });

  test("starts slowly where no pace is known, keeps a known one, and ends a pause", async () => {
    const [id, known] = [await endpoint(), await endpoint()];
    for (const one of [id, known]) await store(one, [{ status: "failed" }]);
    await sql`UPDATE webhook_endpoints SET pace = 80, paused_until = now() + interval '1 hour' WHERE id = ${known}`;
    for (const one of [id, known]) await post(`${one}/recover`, { since: SINCE });
    const rows =
      await sql`SELECT pace, paused_until FROM webhook_endpoints WHERE id IN (${id}, ${known}) ORDER BY pace`;
    expect([...rows]).toEqual([
      { pace: 5, paused_until: null },
      { pace: 80, paused_until: null },
    ]);
  });

  test("of nothing is 202 and slows nothing down", async () => {
    const id = await endpoint();
    expect((await post(`${id}/recover`, { since: SINCE })).body).toEqual({ deliveries: 0 });
    const [row] = await sql`SELECT pace FROM webhook_endpoints WHERE id = ${id}`;
    expect(row?.pace).toBeNull();
    expect(await wakeUps(sql, id)).toBe(0);
  });

  test("asked for twice at once sends nothing twice", async () => {
    const id = await endpoint();
    await store(
      id,
      Array.from({ length: 10 }, () => ({ status: "failed" })),
    );
    const replies = await Promise.all([1, 2, 3].map(() => post(`${id}/recover`, { since: SINCE })));
    expect(replies.map(({ body }) => body.deliveries).sort()).toEqual([0, 0, 10]);
    const rows = await sql`SELECT DISTINCT max_attempts FROM webhook_deliveries WHERE endpoint_id = ${id}`;
    expect([...rows]).toEqual([{ max_attempts: 5 }]);
  });

  test("is 409 while the webhook is disabled, and changes nothing", async () => {
    const id = await endpoint();
    const [deliveryId = ""] = await store(id, [{ status: "failed" }]);
    await disable(id);
    expectEnvelope(await post(`${id}/recover`, { since: SINCE }), 409, "conflict");
    expect((await readDelivery(sql, deliveryId)).status).toBe("failed");
  });
});
