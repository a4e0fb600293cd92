import { afterAll, beforeAll, expect, test } from "vitest";
import { asUser } from "../../../../../test/support/actors.ts";
import { openTestServices, type TestServices } from "../../../../../test/support/services.ts";
import { createApiKey } from "../api-keys/create-api-key.ts";
import { readApiKeyUsage } from "../api-keys/read-api-key-usage.ts";
import { ingestUsage } from "./ingest-usage.ts";
import { pruneUsage } from "./prune-usage.ts";
import { readHourlyUsage } from "./read-hourly-usage.ts";

const DAY_MS = 86_400_000;
let world: TestServices;

beforeAll(async () => {
  world = await openTestServices();
});

afterAll(() => world.close());

test("hours go after 90 days, days after the retention, and the days outlive their hours", async () => {
  const owner = await asUser(world, "owner");
  const { key } = await createApiKey(owner, { name: "key", environment: "test", scopes: ["read"] });
  const { sql } = world.services.db;
  const rows = () => sql<{ hours: number; days: number; reports: number }[]>`SELECT
    (SELECT count(*)::int FROM api_usage_hours) AS hours, (SELECT count(*)::int FROM api_usage_days) AS days,
    (SELECT count(*)::int FROM usage_reports) AS reports`;
  const entries = [{ apiKeyId: key.id, hour: world.clock.now().toISOString(), requests: 3, errors: 0 }];
  await ingestUsage(world.system, { entries, idempotencyKey: "report" });
  await sql`INSERT INTO api_usage_hours (api_key_id, hour, requests)
    SELECT ${key.id}, '2020-01-01T00:00:00Z'::timestamptz + i * interval '1 hour', 1 FROM generate_series(1, 12000) AS i`;

  expect(await pruneUsage(world.system)).toBe(12_000);
  world.clock.advance(2 * DAY_MS - 1);
  expect(await pruneUsage(world.system)).toBe(0);
  world.clock.advance(2);
  expect(await pruneUsage(world.system)).toBe(1);
  expect(await rows()).toEqual([{ hours: 1, days: 1, reports: 0 }]);

  world.clock.advance(88 * DAY_MS - 10);
  expect(await readHourlyUsage(owner, { id: key.id, hours: 2_160 })).toContainEqual({
    hour: "2026-01-01T00:00:00.000Z",
    requests: 3,
    errors: 0,
  });
  expect(await pruneUsage(world.system)).toBe(0);
  world.clock.advance(DAY_MS + 10);
  expect(await pruneUsage(world.system)).toBe(1);
  expect(await rows()).toEqual([{ hours: 0, days: 1, reports: 0 }]);
  expect(await readApiKeyUsage(owner, { id: key.id, days: 365 })).toContainEqual({
    day: "2026-01-01",
    requests: 3,
    errors: 0,
  });

  world.clock.advance(310 * DAY_MS);
  expect(await pruneUsage(world.system)).toBe(1);
  expect(await rows()).toEqual([{ hours: 0, days: 0, reports: 0 }]);
});

test("only the platform itself prunes, only the gateway reports", async () => {
  const anybody = { ...world.system, override: null };
  await expect(pruneUsage(anybody)).rejects.toMatchObject({ code: "forbidden" });
  const report = ingestUsage(anybody, { entries: [], idempotencyKey: null });
  await expect(report).rejects.toMatchObject({ code: "sign_in_required" });
});
