import { withTransaction } from "@quayside/db";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { asUser } from "../../../../../test/support/actors.ts";
import { openTestServices, type TestServices } from "../../../../../test/support/services.ts";
import type { Context } from "../../platform/context.ts";
import { createWebhook, updateWebhook } from "../../webhooks/index.ts";
import { createProject } from "./create-project.ts";
import { deleteProject } from "./delete-project.ts";
import { updateProject } from "./update-project.ts";

let given: TestServices;
let ctx: Context;
let users = 0;

beforeAll(async () => {
  given = await openTestServices();
});

beforeEach(async () => {
  users += 1;
  ctx = await asUser(given, `owner${users}`);
});

afterAll(() => given.close());

const listen = (events: ("*" | "resource.created" | "resource.updated" | "resource.deleted")[]) =>
  createWebhook(ctx, { url: "https://hooks.example", events });

/** What was emitted in the organization, with how many endpoints it goes to. */
const emitted = () => ctx.db.sql`
  SELECT e.type, e.data, e.area, count(d.id)::int AS deliveries FROM webhook_events e
  LEFT JOIN webhook_deliveries d ON d.event_id = e.id AND d.status = 'pending'
  WHERE e.organization_id = ${ctx.principal?.organization.id ?? ""}
  GROUP BY e.id ORDER BY e.occurred_at, e.id`;

test("creating, changing and deleting a project is told to each endpoint that listens", async () => {
  await listen(["*"]);
  await listen(["resource.deleted", "resource.created"]);
  const { id } = await createProject(ctx, { name: "Shop" });
  given.clock.advance(1);
  await updateProject(ctx, { id, name: "Shop 2", defaultBranch: "main" });
  given.clock.advance(1);
  await deleteProject(ctx, { id });
  const shop = { resource: "project", id, name: "Shop", slug: "shop" };
  const area = "organization";
  expect([...(await emitted())]).toEqual([
    { type: "resource.created", area, deliveries: 2, data: shop },
    { type: "resource.updated", area, deliveries: 1, data: { ...shop, name: "Shop 2", changed: ["name"] } },
    { type: "resource.deleted", area, deliveries: 2, data: { ...shop, name: "Shop 2" } },
  ]);
});

test("nothing is written while no endpoint listens to the type", async () => {
  const { id: disabled } = await listen(["*"]);
  await updateWebhook(ctx, { id: disabled, enabled: false });
  await listen(["resource.deleted"]);
  const { id } = await createProject(ctx, { name: "Quiet" });
  await updateProject(ctx, { id, name: "Still quiet" });
  expect(await emitted()).toHaveLength(0);
});

test("a change that is undone tells nothing", async () => {
  await listen(["*"]);
  const undone = withTransaction(ctx.db, async (tx) => {
    await createProject({ ...ctx, db: tx }, { name: "Never" });
    const [row] = await tx.sql`SELECT count(*)::int AS count FROM webhook_deliveries
      WHERE organization_id = ${ctx.principal?.organization.id ?? ""}`;
    expect(row?.count).toBe(1);
    throw new Error("undone");
  });
  await expect(undone).rejects.toThrow("undone");
  expect(await emitted()).toHaveLength(0);
});

test("the fields that have another value are named, and without one nothing is told", async () => {
  await listen(["resource.updated"]);
  const buildConfig = { build: "make", env: { A: "1", B: "2" } };
  const repo = "https://me:token@git.example.com/a.git";
  const { id } = await createProject(ctx, { name: "Same", repo, buildConfig });
  await updateProject(ctx, { id });
  await updateProject(ctx, {
    id,
    name: "Same",
    slug: "same",
    repo,
    buildConfig: { env: { B: "2", A: "1" }, build: "make" },
  });
  expect(await emitted()).toHaveLength(0);
  await updateProject(ctx, { id, slug: "other", buildConfig: {}, repo: "https://me:new@git.example.com/a.git" });
  const [event] = await emitted();
  expect(event?.data).toEqual({
    resource: "project",
    id,
    name: "Same",
    slug: "other",
    changed: ["slug", "buildConfig", "repo"],
  });
  await updateProject(ctx, { id, repo: null });
  expect(JSON.stringify(await emitted())).not.toContain("token");
});
