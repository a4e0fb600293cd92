import { createQuayside } from "@quayside/sdk";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { mutate } from "../support/call-procedure.ts";
import { type Owner, signUpOwner } from "../support/organizations.ts";
import { startTestQuayside, type TestQuayside } from "../support/quayside.ts";
import { connectTo } from "../support/sql.ts";
import { openTrpcSocket } from "../support/trpc-socket.ts";
import { until } from "../support/until.ts";
import { createEndpoint, NO_SUCH_ID, readDelivery, storeDeliveries } from "../support/webhooks.ts";

let quayside: TestQuayside;
let sql: ReturnType<typeof connectTo>;
let owner: Owner;
let api: ReturnType<typeof createQuayside>["api"];

beforeAll(async () => {
  quayside = await startTestQuayside({}, "api");
  sql = connectTo(quayside.databaseUrl);
  owner = await signUpOwner(quayside, "owner");
  ({ api } = createQuayside({ baseUrl: quayside.baseUrl, token: owner.token }));
});

afterAll(async () => {
  await sql?.end();
  await quayside?.stop();
});

const NEW = { url: "https://hooks.example/in", events: ["*" as const] };
const crmEndpoint = async () => (await api.crm.webhooks.create.mutate({ ...NEW, name: "CRM" })).id;
const failed = { status: "failed", attempts: 4 };

describe("rotating a secret", () => {
  const stateOf = async (id: string) => {
    const [row] = await sql`SELECT secret, previous_secret AS previous,
      extract(epoch FROM previous_secret_until - now())::float8 / 3600 AS hours FROM webhook_endpoints WHERE id = ${id}`;
    return row as unknown as { secret: Buffer; previous: Buffer | null; hours: number | null };
  };

  test("returns a new one once and lets the old one sign for 24 hours more", async () => {
    const { id, secret } = await api.webhooks.create.mutate(NEW);
    const before = await stateOf(id);
    const rotated = await api.webhooks.rotateSecret.mutate({ id });
    expect(rotated.secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
    expect(rotated.secret).not.toBe(secret);
    const after = await stateOf(id);
    expect(after.previous).toEqual(before.secret);
    expect(after.hours).toBeCloseTo(24, 1);
    expect(Date.parse(rotated.previousSecretUntil ?? "") - Date.now()).toBeGreaterThan(23.9 * 3_600_000);
  });

  test("keeps the old one for as many hours as are asked for, or not at all", async () => {
    const { id } = await api.webhooks.create.mutate(NEW);
    await api.webhooks.rotateSecret.mutate({ id, expiresIn: 168 });
    expect((await stateOf(id)).hours).toBeCloseTo(168, 1);
    expect(await api.webhooks.rotateSecret.mutate({ id, expiresIn: 0 })).toMatchObject({ previousSecretUntil: null });
    expect(await stateOf(id)).toMatchObject({ previous: null, hours: null });
    for (const expiresIn of [-1, 169, 1.5, "24", null]) {
      expect((await mutate(quayside, "webhooks.rotateSecret", { id, expiresIn }, owner.token)).status).toBe(422);
    }
  });

  test("by PATCH takes the given one; the present one again is no rotation", async () => {
    const { id, secret } = await api.webhooks.create.mutate(NEW);
    const before = await stateOf(id);
    await api.webhooks.update.mutate({ id, secret });
    expect(await stateOf(id)).toMatchObject({ secret: before.secret, previous: null });
    await api.webhooks.update.mutate({ id, secret: "another secret of mine" });
    const after = await stateOf(id);
    expect(after.previous).toEqual(before.secret);
    expect(after.hours).toBeCloseTo(24, 1);
    await api.webhooks.update.mutate({ id, secret: "another secret of mine" });
    expect((await stateOf(id)).previous).toEqual(before.secret);
  });

  test("of a CRM webhook needs admin, as reading its secret does", async () => {
    const id = await crmEndpoint();
    const writer = await quayside.makeKey(owner.token, { scopes: ["write"] });
    expect((await mutate(quayside, "crm.webhooks.rotateSecret", { id }, writer.secret)).status).toBe(403);
    const { secret } = await api.crm.webhooks.rotateSecret.mutate({ id });
    expect((await api.crm.webhooks.get.query({ id })).secret).toBe(secret);
  });

  test("of another's or of an unknown one is 404", async () => {
    const { token } = await quayside.signUp("rotator");
    const { id } = await createEndpoint(quayside, owner.token);
    expect((await mutate(quayside, "webhooks.rotateSecret", { id }, token)).status).toBe(404);
    expect((await mutate(quayside, "webhooks.rotateSecret", { id: NO_SUCH_ID }, owner.token)).status).toBe(404);
    expect((await mutate(quayside, "crm.webhooks.rotateSecret", { id }, owner.token)).status).toBe(404);
  });
});

describe("CRM webhooks", () => {
  test("show their newest delivery in the list and by id", async () => {
    const [id, quiet] = [await crmEndpoint(), await crmEndpoint()];
    const [, newest] = await storeDeliveries(sql, owner, id, [
      { status: "delivered", at: "2026-03-01T12:00:00.000Z" },
      { status: "failed", type: "person.created", attempts: 2, at: "2026-03-01T12:00:01.000Z" },
      { status: "cancelled", at: "2026-03-01T11:00:00.000Z" },
    ]);
    const expected = { id: newest, type: "person.created", status: "failed" };
    const one = await api.crm.webhooks.get.query({ id });
    expect(one.lastDelivery).toMatchObject(expected);
    expect(one.lastDelivery?.attempts.map(({ attempt }) => attempt)).toEqual([1, 2]);
    const { data } = await api.crm.webhooks.list.query();
    const listed = new Map(data.map((webhook) => [webhook.id, webhook.lastDelivery]));
    expect(listed.get(id)).toEqual(one.lastDelivery);
    expect(listed.get(quiet)).toBeNull();
    expect((await api.crm.webhooks.update.mutate({ id, name: "New" })).lastDelivery).toEqual(one.lastDelivery);
  });

  test("have the same history, test, resend and recover", async () => {
    const id = await crmEndpoint();
    const [first = "", second = ""] = await storeDeliveries(sql, owner, id, [failed, failed]);
    expect(await api.crm.webhooks.resend.mutate({ id, deliveryId: first })).toEqual({ deliveryId: first });
    expect(await api.crm.webhooks.recover.mutate({ id, since: "2020-01-01T00:00:00Z" })).toEqual({ deliveries: 1 });
    const { deliveryId } = await api.crm.webhooks.test.mutate({ id });
    expect(await readDelivery(sql, second)).toMatchObject({ status: "pending", priority: 1, maxAttempts: 8 });
    const page = await api.crm.webhooks.deliveries.query({ id, status: "pending", limit: 2 });
    const rest = await api.crm.webhooks.deliveries.query({
      id,
      status: "pending",
      cursor: page.deliveriesCursor ?? "",
    });
    const all = [...page.deliveries, ...rest.deliveries];
    expect(all.map((delivery) => delivery.id).sort()).toEqual([first, second, deliveryId].sort());
    expect(all[0]).toMatchObject({ id: deliveryId, type: "webhook.test" });
    const [event] = await sql`SELECT e.area FROM webhook_events e JOIN webhook_deliveries d ON d.event_id = e.id
      WHERE d.id = ${deliveryId}`;
    expect(event?.area).toBe("crm");
  });

  test("are disabled with what waits for them, and then refuse to send", async () => {
    const id = await crmEndpoint();
    const [pending = ""] = await storeDeliveries(sql, owner, id, [{ status: "pending" }]);
    await api.crm.webhooks.update.mutate({ id, status: "disabled" });
    expect((await readDelivery(sql, pending)).status).toBe("cancelled");
    for (const [verb, input] of [
      ["test", { id }],
      ["resend", { id, deliveryId: pending }],
      ["recover", { id, since: "2020-01-01T00:00:00Z" }],
    ] as const) {
      expect((await mutate(quayside, `crm.webhooks.${verb}`, input, owner.token)).status, verb).toBe(409);
    }
    await api.crm.webhooks.update.mutate({ id, status: "enabled" });
    expect((await mutate(quayside, "crm.webhooks.test", { id }, owner.token)).status).toBe(200);
  });

  test("are not reached by the organization's procedures", async () => {
    const id = await crmEndpoint();
    for (const verb of ["test", "delete"]) {
      expect((await mutate(quayside, `webhooks.${verb}`, { id }, owner.token)).status).toBe(404);
    }
    const { id: own } = await api.webhooks.create.mutate(NEW);
    expect((await mutate(quayside, "crm.webhooks.test", { id: own }, owner.token)).status).toBe(404);
  });
});

describe("live deliveries", () => {
  interface Seen {
    id: string;
    data: { deliveryId: string; endpointId: string; status: string; attempt: number; statusCode: number | null };
  }

  /** A subscription, once it is certain that it runs. */
  async function follow(token: string, input: object = {}) {
    const socket = await openTrpcSocket(quayside.baseUrl, { headers: { authorization: `Bearer ${token}` } });
    onTestFinished(() => socket.close());
    const id = socket.subscribe("webhooks.live", input);
    await until("the subscription has begun", () =>
      socket.messages.some((message) => message.id === id && message.result?.type === "started"),
    );
    const seen = () =>
      socket.messages.flatMap((message) =>
        message.id === id && message.result?.type === "data" ? [message.result.data as Seen] : [],
      );
    return { socket, seen, ids: () => seen().map(({ data }) => data.deliveryId) };
  }

  test("come as they change, with ids that grow", async () => {
    const { token, organizationId } = await signUpOwner(quayside, "follower");
    const { id } = await createEndpoint(quayside, token);
    const stream = await follow(token);
    const tested = await mutate(quayside, "webhooks.test", { id }, token);
    await until("the test is told", () => stream.seen().length === 1);
    const [deliveryId = ""] = await storeDeliveries(sql, { organizationId }, id, [failed]);
    await mutate(quayside, "webhooks.resend", { id, deliveryId }, token);
    await until("the resend is told", () => stream.seen().length === 2);
    expect(stream.seen().map(({ data }) => data)).toEqual([
      {
        deliveryId: tested.body.deliveryId,
        endpointId: id,
        eventId: expect.any(String),
        type: "webhook.test",
        status: "pending",
        attempt: 0,
        statusCode: null,
        at: expect.any(String),
      },
      expect.objectContaining({ deliveryId, status: "pending", attempt: 4, statusCode: 500 }),
    ]);
    const positions = stream.seen().map((item) => Number(item.id));
    expect(positions[0]).toBeLessThan(positions[1] ?? 0);
  });

  test("go on after the last id, with what happened meanwhile", async () => {
    const { token } = await signUpOwner(quayside, "returner");
    const { id } = await createEndpoint(quayside, token);
    const send = async () => (await mutate(quayside, "webhooks.test", { id }, token)).body.deliveryId as string;
    const stream = await follow(token);
    const first = await send();
    await until("the first is told", () => stream.seen().length === 1);
    stream.socket.close();
    const missed = [await send(), await send()];
    const again = await follow(token, { lastEventId: stream.seen()[0]?.id });
    await until("the missed ones are told", () => again.seen().length === 2);
    const last = await send();
    await until("the next one is told", () => again.seen().length === 3);
    expect(again.ids()).toEqual([...missed, last]);
    expect(again.ids()).not.toContain(first);
    const fresh = await follow(token);
    const newest = await send();
    await until("a new reader is told", () => fresh.seen().length === 1);
    expect(fresh.ids()).toEqual([newest]);
  });

  test("are the organization's own, without those of the CRM", async () => {
    const { token } = await signUpOwner(quayside, "neighbour");
    const { id } = await createEndpoint(quayside, token);
    const stream = await follow(token);
    const other = await follow(owner.token);
    const { id: mine } = await createEndpoint(quayside, owner.token);
    await mutate(quayside, "crm.webhooks.test", { id: await crmEndpoint() }, owner.token);
    const told = await mutate(quayside, "webhooks.test", { id: mine }, owner.token);
    await until("the owner is told", () => other.seen().length > 0);
    expect(other.ids()).toEqual([told.body.deliveryId]);
    const own = await mutate(quayside, "webhooks.test", { id }, token);
    await until("the neighbour is told", () => stream.seen().length > 0);
    expect(stream.ids()).toEqual([own.body.deliveryId]);
  });

  test("need the scope read, and an id of theirs to go on after", async () => {
    const socket = await openTrpcSocket(quayside.baseUrl);
    onTestFinished(() => socket.close());
    for (const [input, code] of [
      [{}, "sign_in_required"],
      [{ lastEventId: "x" }, "sign_in_required"],
    ] as const) {
      const id = socket.subscribe("webhooks.live", input);
      const refusal = await until("it is refused", () => socket.messages.find((message) => message.id === id));
      expect(refusal.error?.data).toMatchObject({ errorCode: code });
    }
    const signedIn = await openTrpcSocket(quayside.baseUrl, { headers: { authorization: `Bearer ${owner.token}` } });
    onTestFinished(() => signedIn.close());
    const id = signedIn.subscribe("webhooks.live", { lastEventId: "-1" });
    const refusal = await until("it is refused", () => signedIn.messages.find((message) => message.id === id));
    expect(refusal.error?.data).toMatchObject({ errorCode: "validation_failed" });
  });

  test("are not written down while nobody follows", async () => {
    const { token, organizationId } = await signUpOwner(quayside, "nobody");
    const { id } = await createEndpoint(quayside, token);
    await mutate(quayside, "webhooks.test", { id }, token);
    const [row] =
      await sql`SELECT count(*)::int AS count FROM webhook_activity WHERE organization_id = ${organizationId}`;
    expect(row?.count).toBe(0);
  });
});
