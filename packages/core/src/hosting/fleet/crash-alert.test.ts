import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { asUser } from "../../../../../test/support/actors.ts";
import { openTestServices, type TestServices } from "../../../../../test/support/services.ts";
import { until } from "../../../../../test/support/until.ts";
import type { Context } from "../../platform/context.ts";
import { createWebhook } from "../../webhooks/index.ts";
import { createProject } from "../projects/create-project.ts";
import { CrashAlert } from "./crash-alert.ts";

const FIRST_CRASH_ONLY = { recoveredMs: 1, steadyMs: 3_600_000 };

let given: TestServices;
let ctx: Context;
let release: { id: string; organizationId: string; appId: string; component: string };
let users = 0;

beforeAll(async () => {
  given = await openTestServices();
});

beforeEach(async () => {
  users += 1;
  ctx = await asUser(given, `owner${users}`);
  await createWebhook(ctx, { url: "https://hooks.example", events: ["alert.triggered", "alert.resolved"] });
  const project = await createProject(ctx, { name: "Shop" });
  const organizationId = ctx.principal?.organization.id ?? "";
  const appId = given.services.ids.uuid();
  await ctx.db.sql`INSERT INTO apps (id, organization_id, project_id, slug)
    VALUES (${appId}, ${organizationId}, ${project.id}, 'shop')`;
  release = { id: given.services.ids.uuid(), organizationId, appId, component: "web" };
});

afterAll(() => given.close());

const told = async () => {
  const rows = await ctx.db.sql<{ type: string; data: { message: string } }[]>`
    SELECT type, data FROM webhook_events WHERE organization_id = ${release.organizationId} ORDER BY occurred_at, id`;
  return [...rows];
};
const types = async () => (await told()).map(({ type }) => type);
const alertOf = (times = FIRST_CRASH_ONLY) => new CrashAlert(given.system, release, times);

test("a crash is told, and that the app runs again", async () => {
  const alert = alertOf();
  alert.healthy();
  await alert.crashed(5_000, "The app ended with code 3.");
  given.clock.advance(1);
  alert.healthy();
  await until("it is told", async () => (await told()).length === 2);
  const data = { alert: "app_crashed", appId: release.appId, appSlug: "shop", component: "web" };
  expect(await told()).toEqual([
    { type: "alert.triggered", data: { ...data, message: "The app ended with code 3." } },
    { type: "alert.resolved", data: { ...data, message: "The app runs again." } },
  ]);
});

test("a crash loop is told once, however often the app comes up in between", async () => {
  const alert = alertOf({ recoveredMs: 3_600_000, steadyMs: 3_600_000 });
  for (let crash = 0; crash < 4; crash += 1) {
    await alert.crashed(1, "The app ended with code 1.");
    alert.healthy();
  }
  expect(await types()).toEqual(["alert.triggered"]);
  given.clock.advance(1);
  await alert.end(false);
  expect(await types()).toEqual(["alert.triggered", "alert.resolved"]);
  expect((await told())[1]?.data.message).toBe("The release that crashed is no longer live.");
});

test("in a crash loop only a long time of health resolves", async () => {
  const alert = alertOf();
  await alert.crashed(1, "One.");
  await alert.crashed(1, "Two.");
  alert.healthy();
  const other = alertOf();
  await other.crashed(1, "Of another one.");
  given.clock.advance(1);
  other.healthy();
  await until("the other one is resolved", async () => (await types()).includes("alert.resolved"));
  expect(await types()).toEqual(["alert.triggered", "alert.triggered", "alert.resolved"]);
  await alert.end(true);
  expect(await types()).toHaveLength(3);
});

test("an alert outlives the process of Quayside that triggered it", async () => {
  const before = alertOf();
  await before.crashed(1, "One.");
  await before.end(true);
  given.clock.advance(1);
  const after = alertOf();
  await after.takeUp();
  after.healthy();
  await until("it is resolved", async () => (await types()).length === 2);
  const later = alertOf();
  given.clock.advance(1);
  await later.takeUp();
  await later.end(false);
  expect(await types()).toEqual(["alert.triggered", "alert.resolved"]);
});
