import { afterAll, beforeAll, expect, test } from "vitest";
import { asUser } from "../../../../test/support/actors.ts";
import { openTestServices, type TestServices } from "../../../../test/support/services.ts";
import { recordAudit } from "./audit.ts";

let world: TestServices;

beforeAll(async () => {
  world = await openTestServices();
});

afterAll(() => world.close());

function events(action: string) {
  return world.services.db
    .sql`SELECT actor, target, organization_id AS organization, details, ip FROM audit_events WHERE action = ${action}`;
}

test("an audit event names the caller, the organization and the address", async () => {
  const owner = await asUser(world, "audited");
  await recordAudit(
    owner.db,
    { ...owner, ip: "203.0.113.7" },
    { action: "test.done", target: "thing:1", details: { n: 1 } },
  );
  expect(await events("test.done")).toEqual([
    {
      actor: "user:audited",
      target: "thing:1",
      organization: owner.principal?.organization.id,
      details: { n: 1 },
      ip: "203.0.113.7",
    },
  ]);
});

test.each([
  ["changed", "UPDATE audit_events SET actor = 'nobody' WHERE action = 'test.kept'"],
  ["deleted", "DELETE FROM audit_events WHERE action = 'test.kept'"],
  ["truncated away", "TRUNCATE audit_events"],
])("an audit event cannot be %s, by whatever statement", async (_what, statement) => {
  const { db } = world.services;
  await recordAudit(db, world.system, { action: "test.kept" });
  const before = await events("test.kept");
  await expect(db.sql.unsafe(statement)).rejects.toThrow("audit_events is append-only");
  expect(await events("test.kept")).toEqual(before);
});
