import { type Database, withTransaction } from "@quayside/db";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { asUser } from "../../../../../test/support/actors.ts";
import { openTestServices, type TestServices } from "../../../../../test/support/services.ts";
import { until } from "../../../../../test/support/until.ts";
import type { Context } from "../../platform/context.ts";
import { createWebhook } from "../endpoints/create-webhook.ts";
import { sendTest } from "../endpoints/send-test.ts";
import { type ActivityRow, followActivity } from "./follow-activity.ts";
import { pruneActivity } from "./prune-activity.ts";
import { recordActivity } from "./record-activity.ts";

const DAY_MS = 86_400_000;

let given: TestServices;

beforeAll(async () => {
  given = await openTestServices();
});

afterAll(() => given.close());

/** A user with an endpoint and some deliveries to it. */
async function userWithDeliveries(name: string, count: number) {
  const ctx = await asUser(given, name);
  const { id } = await createWebhook(ctx, { url: "https://hooks.example", events: ["*"] });
  const deliveries = [];
  for (let n = 0; n < count; n += 1) deliveries.push((await sendTest(ctx, "organization", { id })).deliveryId);
  return { ctx, endpointId: id, deliveries };
}

async function follow(ctx: Context, lastEventId?: string) {
  const leaving = new AbortController();
  const rows: ActivityRow[] = [];
  const stream = await followActivity(ctx, { lastEventId }, leaving.signal);
  const done = (async () => {
    for await (const row of stream) rows.push(row);
  })();
  const leave = async () => {
    leaving.abort();
    await done;
  };
  onTestFinished(leave);
  return { rows, leave, ids: () => rows.map(({ deliveryId }) => deliveryId) };
}

/** A transaction that does its work at once and ends when it is told to. */
async function openTransaction(db: Database, work: (tx: Database) => Promise<void>) {
  const worked = Promise.withResolvers<void>();
  const ending = Promise.withResolvers<void>();
  const done = withTransaction(db, async (tx) => {
    await work(tx);
    worked.resolve();
    await ending.promise;
  });
  await Promise.race([worked.promise, done]);
  return async () => {
    ending.resolve();
    await done;
  };
}

test("a reader misses nothing of transactions that end in another order than they wrote", async () => {
  const { ctx, deliveries } = await userWithDeliveries("disorder", 3);
  const [early = "", late = "", last = ""] = deliveries;
  const reader = await follow(ctx);
  const commitEarly = await openTransaction(ctx.db, (tx) => recordActivity(tx, ctx, [early]));
  await recordActivity(ctx.db, ctx, [late]);
  await until("the later one is told", () => reader.rows.length === 1);
  await commitEarly();
  await until("the earlier one is told too", () => reader.rows.length === 2);
  await recordActivity(ctx.db, ctx, [last]);
  await until("the last is told", () => reader.rows.length === 3);
  expect(reader.ids()).toEqual([late, early, last]);
  const positions = reader.rows.map(({ id }) => id);
  expect(positions).toEqual([...positions].sort((a, b) => a - b));
  const again = await follow(ctx, String(positions[0]));
  await until("the rest is told", () => again.rows.length === 2);
  expect(again.ids()).toEqual([early, last]);
});

test("writers of one organization do not wait for each other", async () => {
  const { ctx, deliveries } = await userWithDeliveries("patience", 2);
  await follow(ctx);
  const [one = "", two = ""] = deliveries;
  const commit = await openTransaction(ctx.db, (tx) => recordActivity(tx, ctx, [one]));
  await recordActivity(ctx.db, ctx, [two]);
  await commit();
});

test("a reader waits for transactions that began before anybody followed", async () => {
  const { ctx, deliveries } = await userWithDeliveries("beginning", 2);
  const [silent = "", told = ""] = deliveries;
  // It looks for watchers when there are none, so what it changes is not written down.
  const commit = await openTransaction(ctx.db, async (tx) => {
    await tx.sql`UPDATE webhook_deliveries SET status = 'delivered' WHERE id = ${silent}`;
    await recordActivity(tx, ctx, [silent]);
  });
  let following = false;
  const reader = follow(ctx).then((opened) => {
    following = true;
    return opened;
  });
  await until("the watch is stored", async () => {
    const [row] = await given.services.db.sql`
      SELECT 1 FROM webhook_watches WHERE organization_id = ${ctx.principal?.organization.id ?? ""}`;
    return row !== undefined;
  });
  for (let look = 0; look < 20; look += 1) await given.services.db.sql`SELECT 1`;
  expect(following).toBe(false);
  await commit();
  const { rows, ids } = await reader;
  await recordActivity(ctx.db, ctx, [told]);
  await until("what comes then is told", () => rows.length === 1);
  expect(ids()).toEqual([told]);
});

test("many changes at once come in order, in pages", async () => {
  const { ctx, deliveries } = await userWithDeliveries("many", 1);
  const [id = ""] = deliveries;
  const reader = await follow(ctx);
  await reader.leave();
  for (let batch = 0; batch < 5; batch += 1) {
    await ctx.db.sql`UPDATE webhook_deliveries SET attempts = ${batch} WHERE id = ${id}`;
    await recordActivity(ctx.db, ctx, [id]);
    await ctx.db.sql`INSERT INTO webhook_activity
      (organization_id, endpoint_id, delivery_id, event_id, type, status, attempt, at)
      SELECT organization_id, endpoint_id, delivery_id, event_id, type, status, attempt, at FROM webhook_activity
      CROSS JOIN generate_series(1, 599) WHERE delivery_id = ${id} AND attempt = ${batch}`;
  }
  const again = await follow(ctx, "0");
  await until("all are told", () => again.rows.length === 3_000);
  const attempts = again.rows.map(({ attempt }) => attempt);
  expect(attempts).toEqual([...attempts].sort());
});

test("activity is written for a day after somebody followed, kept for a day, and removed", async () => {
  const { ctx, deliveries } = await userWithDeliveries("forgetful", 1);
  const organizationId = ctx.principal?.organization.id ?? "";
  const count = async () => {
    const [row] = await ctx.db.sql<{ count: number }[]>`
      SELECT count(*)::int AS count FROM webhook_activity WHERE organization_id = ${organizationId}`;
    return row?.count;
  };
  const reader = await follow(ctx);
  await reader.leave();
  given.clock.advance(DAY_MS - 60_000);
  await recordActivity(ctx.db, ctx, deliveries);
  expect(await count()).toBe(1);
  given.clock.advance(2 * 60_000);
  await recordActivity(ctx.db, ctx, deliveries);
  expect(await count()).toBe(1);
  await pruneActivity(given.system, new AbortController().signal);
  expect(await count()).toBe(1);
  given.clock.advance(DAY_MS);
  expect(await pruneActivity(given.system, new AbortController().signal)).toBeGreaterThan(0);
  expect(await count()).toBe(0);
  const [watch] = await ctx.db.sql`SELECT 1 FROM webhook_watches WHERE organization_id = ${organizationId}`;
  expect(watch).toBeUndefined();
});

test("only the platform itself may prune", async () => {
  const ctx = await asUser(given, "pruner");
  await expect(pruneActivity(ctx, new AbortController().signal)).rejects.toMatchObject({ code: "forbidden" });
});
