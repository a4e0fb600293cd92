import { afterAll, beforeAll, expect, test } from "vitest";
import { asUser } from "../../../../../test/support/actors.ts";
import { openTestServices, type TestServices } from "../../../../../test/support/services.ts";
import type { Context } from "../../platform/context.ts";
import { readSendableEndpoint } from "../delivering/claim-deliveries.ts";
import { createWebhook } from "./create-webhook.ts";
import { deleteWebhook } from "./delete-webhook.ts";
import { pruneDeletedWebhooks } from "./prune-deleted-webhooks.ts";
import { recoverDeliveries } from "./recover-deliveries.ts";
import { resendDelivery } from "./resend-delivery.ts";
import { rotateSecret } from "./rotate-secret.ts";
import { sendTest } from "./send-test.ts";
import { updateWebhook } from "./update-webhook.ts";

const HOUR_MS = 3_600_000;
const NEW = { url: "https://hooks.example", events: ["*" as const] };

let given: TestServices;
let ctx: Context;

beforeAll(async () => {
  given = await openTestServices();
  ctx = await asUser(given, "owner");
});

afterAll(() => given.close());

/** What a worker signs with at this moment. */
const secretsOf = async (id: string) =>
  (await readSendableEndpoint(given.system, id))?.keys.map(({ service }) => service.export().toString());

const endWith = (id: string, status: string) =>
  ctx.db.sql`UPDATE webhook_deliveries SET status = ${status}, attempts = 4, next_attempt_at = NULL WHERE id = ${id}`;

test("both secrets sign for 24 hours after a rotation, the new one first, and then the new one alone", async () => {
  const { id, secret } = await createWebhook(ctx, NEW);
  expect(await secretsOf(id)).toEqual([secret]);
  await updateWebhook(ctx, { id, secret: "a secret of my own" });
  expect(await secretsOf(id)).toEqual(["a secret of my own", secret]);
  given.clock.advance(24 * HOUR_MS - 1);
  expect(await secretsOf(id)).toEqual(["a secret of my own", secret]);
  given.clock.advance(1);
  expect(await secretsOf(id)).toEqual(["a secret of my own"]);
});

test("a second rotation ends the oldest secret, one of 0 hours all others", async () => {
  const { id } = await createWebhook(ctx, NEW);
  const first = await rotateSecret(ctx, "organization", { id, expiresIn: 24 });
  const second = await rotateSecret(ctx, "organization", { id, expiresIn: 1 });
  expect(await secretsOf(id)).toEqual([second.secret, first.secret]);
  expect(second.previousSecretUntil).toBe(new Date(given.clock.now().getTime() + HOUR_MS).toISOString());
  const third = await rotateSecret(ctx, "organization", { id, expiresIn: 0 });
  expect(await secretsOf(id)).toEqual([third.secret]);
});

test("rotations at once leave the last and the one before it", async () => {
  const { id, secret } = await createWebhook(ctx, NEW);
  const rotated = await Promise.all([1, 2].map(() => rotateSecret(ctx, "organization", { id, expiresIn: 24 })));
  const known = rotated.map((one) => one.secret);
  const signing = (await secretsOf(id)) ?? [];
  expect([...signing].sort()).toEqual([...known].sort());
  expect(signing).not.toContain(secret);
});

test("a disabled endpoint is not sent to, and one that was deleted neither", async () => {
  const { id } = await createWebhook(ctx, NEW);
  await updateWebhook(ctx, { id, enabled: false });
  expect(await secretsOf(id)).toBeUndefined();
  await updateWebhook(ctx, { id, enabled: true });
  expect(await secretsOf(id)).toHaveLength(1);
  await deleteWebhook(ctx, "organization", { id });
  expect(await secretsOf(id)).toBeUndefined();
});

test("an endpoint that is disabled while a recovery runs leaves nothing pending", async () => {
  const { id } = await createWebhook(ctx, NEW);
  const { deliveryId } = await sendTest(ctx, "organization", { id });
  await endWith(deliveryId, "failed");
  await Promise.allSettled([
    recoverDeliveries(ctx, "organization", { id, since: "2020-01-01T00:00:00Z" }),
    updateWebhook(ctx, { id, enabled: false }),
  ]);
  const [row] = await ctx.db.sql`SELECT status, next_attempt_at FROM webhook_deliveries WHERE id = ${deliveryId}`;
  expect(["failed", "cancelled"]).toContain(row?.status);
  expect(row?.next_attempt_at).toBeNull();
});

test("a delivery that is resent and resent again keeps its id and its attempts", async () => {
  const { id } = await createWebhook(ctx, NEW);
  const { deliveryId } = await sendTest(ctx, "organization", { id });
  for (const status of ["delivered", "failed", "cancelled"]) {
    await endWith(deliveryId, status);
    expect(await resendDelivery(ctx, "organization", { id, deliveryId })).toEqual({ deliveryId });
    const [row] = await ctx.db
      .sql`SELECT status, attempts, max_attempts FROM webhook_deliveries WHERE id = ${deliveryId}`;
    expect(row).toEqual({ status: "pending", attempts: 4, max_attempts: 8 });
  }
  const actions = await ctx.db.sql`SELECT action FROM audit_events WHERE target = ${`webhook:${id}`} ORDER BY id`;
  expect(actions.map(({ action }) => action)).toEqual([
    "webhook.created",
    "webhook.tested",
    "webhook.resent",
    "webhook.resent",
    "webhook.resent",
  ]);
});

test("what was deleted is removed with its deliveries, a long history by a job, and nothing else is", async () => {
  const [short, long, stays] = [
    await createWebhook(ctx, NEW),
    await createWebhook(ctx, NEW),
    await createWebhook(ctx, NEW),
  ];
  for (const { id } of [short, long, stays]) await sendTest(ctx, "organization", { id });
  await ctx.db.sql`
    INSERT INTO webhook_deliveries (id, organization_id, endpoint_id, event_id, type, status, max_attempts, created_at)
    SELECT gen_random_uuid(), organization_id, endpoint_id, event_id, type, 'delivered', 4, created_at
    FROM webhook_deliveries, generate_series(1, 2000) WHERE endpoint_id = ${long.id}`;
  for (const one of [short, long]) await deleteWebhook(ctx, "organization", one);
  const left = async ({ id }: { id: string }) => {
    const [row] = await ctx.db.sql<{ endpoints: number; deliveries: number }[]>`
      SELECT (SELECT count(*)::int FROM webhook_endpoints WHERE id = ${id}) AS endpoints,
        (SELECT count(*)::int FROM webhook_deliveries WHERE endpoint_id = ${id}) AS deliveries`;
    return row;
  };
  expect(await left(short)).toEqual({ endpoints: 0, deliveries: 0 });
  expect(await left(long)).toEqual({ endpoints: 1, deliveries: 2_001 });
  await expect(deleteWebhook(ctx, "organization", long)).rejects.toMatchObject({ code: "not_found" });
  const stopping = new AbortController().signal;
  expect(await pruneDeletedWebhooks(given.system, stopping)).toBe(1);
  expect(await left(long)).toEqual({ endpoints: 0, deliveries: 0 });
  expect(await left(stays)).toEqual({ endpoints: 1, deliveries: 1 });
  expect(await pruneDeletedWebhooks(given.system, stopping)).toBe(0);
  await expect(pruneDeletedWebhooks(ctx, stopping)).rejects.toMatchObject({ code: "forbidden" });
});
