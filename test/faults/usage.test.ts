import { afterAll, beforeAll, expect, test } from "vitest";
import { createInstallation, type Installation } from "../support/quayside-process.ts";
import { connectTo } from "../support/sql.ts";
import { until } from "../support/until.ts";

const GATEWAY_SECRET = "gateway-secret-for-tests-only-00";
let installation: Installation;
let sql: ReturnType<typeof connectTo>;

beforeAll(async () => {
  installation = await createInstallation({ GATEWAY_SECRET });
  sql = connectTo(installation.databaseUrl);
});

afterAll(async () => {
  await sql?.end({ timeout: 1 });
  await installation?.remove();
});

test("a report in the middle of which the process is killed counts once when it is sent again", async () => {
  const killed = await installation.start("api");
  const token = await installation.signIn();
  const body = { name: "metered", environment: "test", scopes: ["read"] };
  const { id } = (await installation.call("POST", "/v1/crm/api-keys", { token, body })).body.key;
  const report = (requests: number, key: string) =>
    installation.call("POST", "/v1/crm/internal/api-usage", {
      headers: { authorization: `Bearer ${GATEWAY_SECRET}`, "idempotency-key": key },
      body: { entries: [{ apiKeyId: id, hour: new Date(hour).toISOString(), requests }] },
    });
  const hour = Date.now();
  expect((await report(1, "first")).body).toEqual({ written: 1 });

  await sql.begin(async (tx) => {
    await tx`SELECT 1 FROM api_usage_hours WHERE api_key_id = ${id} FOR UPDATE`;
    const cut = report(10, "cut").catch(() => null);
    await until("the report waits for the row", async () => {
      const waiting = await sql`SELECT 1 FROM pg_stat_activity WHERE datname = current_database()
        AND wait_event_type = 'Lock' AND query LIKE '%INSERT INTO api_usage_hours%'`;
      return waiting.length > 0;
    });
    await killed.crash();
    expect(await cut).toBeNull();
  });

  const heir = await installation.start("api");
  const again = await until("the report is taken", async () => {
    const reply = await report(10, "cut");
    return reply.status === 409 ? null : reply;
  });
  expect([again.status, again.body]).toEqual([200, { written: 1 }]);
  expect((await report(10, "cut")).headers.get("idempotency-replayed")).toBe("true");
  const [row] = await sql`SELECT requests::int FROM api_usage_days WHERE api_key_id = ${id}`;
  expect(row).toEqual({ requests: 11 });
  await heir.stop();
});
