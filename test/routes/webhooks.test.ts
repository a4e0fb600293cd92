import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { expectEnvelope } from "../support/expect-errors.ts";
import { type Owner, signUpOwner } from "../support/organizations.ts";
import { startTestQuayside, type TestQuayside } from "../support/quayside.ts";
import { connectTo } from "../support/sql.ts";
import { createEndpoint, readDelivery, storeDeliveries, TIME, UUID, WEBHOOKS, wakeUps } from "../support/webhooks.ts";

const NEW = { url: "https://hooks.example:8443/in?a=1", events: ["resource.created", "sync.failed"] };

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

const create = (fields: object = {}, token = owner.token, headers: Record<string, string> = {}) =>
  quayside.call("POST", WEBHOOKS, { token, body: { ...NEW, ...fields }, headers });
const list = (token = owner.token) => quayside.call("GET", WEBHOOKS, { token });
const read = (id: string, token = owner.token) => quayside.call("GET", `${WEBHOOKS}/${id}`, { token });
const change = (id: string, body: object, token = owner.token) =>
  quayside.call("PATCH", `${WEBHOOKS}/${id}`, { token, body });
const remove = (id: string, token = owner.token) => quayside.call("DELETE", `${WEBHOOKS}/${id}`, { token });
const made = async (fields: object = {}, token = owner.token) => createEndpoint(quayside, token, { ...NEW, ...fields });

describe("creating a webhook", () => {
  test("answers 201 with the record and a secret of the server's", async () => {
    const reply = await create();
    expect([reply.status, reply.body]).toEqual([
      201,
      {
        id: expect.stringMatching(UUID),
        ...NEW,
        enabled: true,
        disabledReason: null,
        createdAt: expect.stringMatching(TIME),
        updatedAt: reply.body.createdAt,
        secret: expect.stringMatching(/^whsec_[A-Za-z0-9+/]{43}=$/),
      },
    ]);
  });

  test("takes the caller's secret, and shows it in this answer only", async () => {
    const secret = "my own signing secret é";
    const reply = await create({ secret });
    expect([reply.status, reply.body.secret]).toEqual([201, secret]);
    for (const later of [await read(reply.body.id), await list(), await change(reply.body.id, {})]) {
      expect(later.status).toBe(200);
      expect(later.text).not.toContain("secret");
    }
  });

  test("seals the secret, and names the endpoint by its host", async () => {
    const { id, secret } = await made();
    const [row] = await sql`SELECT name, area, secret FROM webhook_endpoints WHERE id = ${id}`;
    expect(row).toMatchObject({ name: "hooks.example:8443", area: "organization" });
    expect(row?.secret.includes(secret.slice(6))).toBe(false);
    expect(row?.secret.includes(Buffer.from(secret.slice(6), "base64"))).toBe(false);
  });

  test("makes one webhook when it is sent again with its Idempotency-Key", async () => {
    const { token } = await signUpOwner(quayside, "repeater");
    const headers = { "idempotency-key": "webhook-1" };
    const first = await create({}, token, headers);
    const again = await create({}, token, headers);
    expect([again.status, again.text]).toEqual([201, first.text]);
    expect(again.headers.get("idempotency-replayed")).toBe("true");
    expect((await list(token)).body).toHaveLength(1);
    expectEnvelope(await create({ events: ["*"] }, token, headers), 409, "idempotency_key_reused");
  });

  test("stops at 100, also when many are made at once; those of the CRM do not count", async () => {
    const { token, organizationId } = await signUpOwner(quayside, "collector");
    await sql`INSERT INTO webhook_endpoints (id, organization_id, area, name, url, events, secret, status)
      SELECT gen_random_uuid(), ${organizationId}, area, 'full', 'https://hooks.example', '{*}', '', 'enabled'
      FROM generate_series(1, 97), unnest(ARRAY['crm', 'organization']) AS area`;
    const replies = await Promise.all(Array.from({ length: 8 }, () => create({}, token)));
    expect(replies.map(({ status }) => status).sort()).toEqual([201, 201, 201, 409, 409, 409, 409, 409]);
    const message = "An organization may have at most 100 webhooks; delete one first.";
    expectEnvelope(await create({}, token), 409, "conflict", message);
    const all = await list(token);
    expect(all.body).toHaveLength(100);
    await remove(all.body[0].id, token);
    expect((await create({}, token)).status).toBe(201);
  });
});

describe("reading webhooks", () => {
  test("lists them newest first as a bare array, without those of the CRM and of others", async () => {
    const { token } = await signUpOwner(quayside, "lister");
    expect((await list(token)).text).toBe("[]");
    const ids = [];
    for (const _ of [1, 2, 3]) ids.push((await made({}, token)).id);
    const crm = { name: "CRM", url: NEW.url, events: ["*"] };
    expect((await quayside.call("POST", "/v1/crm/webhooks", { token, body: crm })).status).toBe(201);
    const reply = await list(token);
    expect(reply.status).toBe(200);
    expect(reply.body.map((webhook: { id: string }) => webhook.id)).toEqual(ids.reverse());
    expect(Object.keys(reply.body[0])).toEqual([
      "id",
      "url",
      "events",
      "enabled",
      "disabledReason",
      "createdAt",
      "updatedAt",
    ]);
  });

  test("by id adds an empty history", async () => {
    const { secret: _, ...record } = await made();
    const reply = await read(record.id);
    expect([reply.status, reply.body]).toEqual([200, { ...record, deliveries: [], deliveriesCursor: null }]);
  });

  test("shows why one was disabled", async () => {
    const { id } = await made();
    await sql`UPDATE webhook_endpoints SET status = 'disabled', disabled_reason = 'Gone.' WHERE id = ${id}`;
    expect((await read(id)).body).toMatchObject({ enabled: false, disabledReason: "Gone." });
  });
});

describe("changing a webhook", () => {
  test("replaces what is given and keeps the rest", async () => {
    const { secret: _, ...before } = await made();
    const reply = await change(before.id, { url: "http://other.example/x", events: ["*", "*"] });
    expect(reply.status).toBe(200);
    const after = { ...before, url: "http://other.example/x", events: ["*"], updatedAt: expect.stringMatching(TIME) };
    expect(reply.body).toEqual(after);
    expect((await read(before.id)).body).toMatchObject(after);
    const [row] = await sql`SELECT name FROM webhook_endpoints WHERE id = ${before.id}`;
    expect(row?.name).toBe("other.example");
  });

  test("by nothing is 200 and changes nothing", async () => {
    const { secret: _, ...before } = await made();
    const reply = await change(before.id, {});
    expect([reply.status, reply.body]).toEqual([200, { ...before, updatedAt: expect.stringMatching(TIME) }]);
  });

  test("to another URL forgets how the old receiver behaved", async () => {
    const { id } = await made();
    const behave = sql`UPDATE webhook_endpoints SET pace = 2, failing_since = now() - interval '4 days',
      paused_until = now() + interval '1 hour' WHERE id = ${id}`;
    await behave;
    const state = () => sql`SELECT pace, failing_since, paused_until FROM webhook_endpoints WHERE id = ${id}`;
    await change(id, { url: NEW.url });
    expect((await state())[0]?.pace).toBe(2);
    await change(id, { url: "https://new.example" });
    expect([...(await state())]).toEqual([{ pace: null, failing_since: null, paused_until: null }]);
    expect(await wakeUps(sql, id)).toBe(1);
  });

  test("disabled cancels what waits and nothing else; enabled begins anew", async () => {
    const { id } = await made();
    const [pending = "", failed = "", delivered = ""] = await storeDeliveries(sql, owner, id, [
      { status: "pending" },
      { status: "failed" },
      { status: "delivered" },
    ]);
    await sql`UPDATE webhook_endpoints SET failing_since = now(), paused_until = now() + interval '1 hour'
      WHERE id = ${id}`;
    const off = await change(id, { enabled: false });
    expect(off.body).toMatchObject({ enabled: false, disabledReason: "Disabled by hand." });
    expect(await readDelivery(sql, pending)).toMatchObject({ status: "cancelled", nextAttemptAt: null });
    expect((await readDelivery(sql, failed)).status).toBe("failed");
    expect((await readDelivery(sql, delivered)).status).toBe("delivered");
    const on = await change(id, { enabled: true });
    expect(on.body).toMatchObject({ enabled: true, disabledReason: null });
    const [row] = await sql`SELECT failing_since, paused_until FROM webhook_endpoints WHERE id = ${id}`;
    expect(row).toEqual({ failing_since: null, paused_until: null });
    expect((await readDelivery(sql, pending)).status).toBe("cancelled");
  });

  test("disabled again keeps the reason for which it was disabled", async () => {
    const { id } = await made();
    await sql`UPDATE webhook_endpoints SET status = 'disabled', disabled_reason = 'Gone.' WHERE id = ${id}`;
    expect((await change(id, { enabled: false })).body.disabledReason).toBe("Gone.");
  });

  test("leaves an audit event of each change, without secrets", async () => {
    const { id } = await made();
    await change(id, { secret: "another secret of mine", events: ["*"] });
    await remove(id);
    const events = await sql`SELECT action, details FROM audit_events WHERE target = ${`webhook:${id}`} ORDER BY id`;
    expect([...events]).toEqual([
      { action: "webhook.created", details: {} },
      { action: "webhook.updated", details: { fields: ["events", "secret"] } },
      { action: "webhook.deleted", details: {} },
    ]);
  });
});

describe("deleting a webhook", () => {
  test("is 204, and it is gone then", async () => {
    const { id } = await made();
    await storeDeliveries(sql, owner, id, [{ status: "pending" }]);
    const reply = await remove(id);
    expect([reply.status, reply.text]).toEqual([204, ""]);
    const message = `No webhook has the id ${id}.`;
    expectEnvelope(await read(id), 404, "not_found", message);
    expectEnvelope(await remove(id), 404, "not_found", message);
    expectEnvelope(await change(id, { enabled: true }), 404, "not_found", message);
    expect((await list()).text).not.toContain(id);
    const [row] = await sql`SELECT count(*)::int AS count FROM webhook_deliveries WHERE endpoint_id = ${id}`;
    expect(row?.count).toBe(0);
  });
});
