import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { createTestDatabase, type TestDatabase } from "../support/database.ts";
import { startTestQuayside, type TestQuayside } from "../support/quayside.ts";
import { connectTo } from "../support/sql.ts";
import { openTcpGate } from "../support/tcp-gate.ts";
import { until } from "../support/until.ts";

const PROMISED_MS = 1_000;
let database: TestDatabase;
let sql: ReturnType<typeof connectTo>;
let [one, other]: [TestQuayside | null, TestQuayside | null] = [null, null];

beforeAll(async () => {
  database = await createTestDatabase();
  sql = connectTo(database.url);
  one = await startTestQuayside({ DATABASE_URL: database.url }, "api");
  other = await startTestQuayside({ DATABASE_URL: database.url }, "api");
});

afterAll(async () => {
  await one?.stop();
  await other?.stop();
  await sql.end({ timeout: 1 });
  await database.drop();
});

function both(): [TestQuayside, TestQuayside] {
  if (!one || !other) throw new Error("The servers did not start.");
  return [one, other];
}

const statusOf = async (server: TestQuayside, token: string) =>
  (await server.call("GET", "/api/v1/whoami", { token })).status;

/** Milliseconds from now until the server refuses the credential. */
async function refusedAfter(server: TestQuayside, token: string): Promise<number> {
  const startedAt = performance.now();
  return until(
    "the credential is refused",
    async () => ((await statusOf(server, token)) === 401 ? performance.now() - startedAt : null),
    5 * PROMISED_MS,
  );
}

/** Ends every session that listens, so that what is announced now is heard by nobody. */
function killListeners() {
  return sql`SELECT pg_terminate_backend(pid) FROM pg_stat_activity
    WHERE application_name = 'quayside-broker' AND datname = current_database()`;
}

test("a key that one process revokes is refused by another within 1 s", async () => {
  const [here, there] = both();
  const key = await here.makeKey(here.adminToken);
  expect(await statusOf(there, key.secret)).toBe(200);
  await here.call("DELETE", `/v1/crm/api-keys/${key.id}`, { token: here.adminToken });
  expect(await refusedAfter(there, key.secret)).toBeLessThan(PROMISED_MS);
});

test("a key is refused within 1 s also when the announcement is lost", async () => {
  const [here, there] = both();
  for (let round = 0; round < 3; round += 1) {
    const key = await here.makeKey(here.adminToken);
    expect(await statusOf(there, key.secret)).toBe(200);
    await killListeners();
    await here.call("DELETE", `/v1/crm/api-keys/${key.id}`, { token: here.adminToken });
    expect(await refusedAfter(there, key.secret)).toBeLessThan(PROMISED_MS);
  }
});

test("a key that nobody announces as revoked is refused within 1 s", async () => {
  const [here, there] = both();
  const key = await here.makeKey(here.adminToken);
  expect(await statusOf(there, key.secret)).toBe(200);
  await sql`UPDATE api_keys SET revoked_at = now() WHERE id = ${key.id}`;
  expect(await refusedAfter(there, key.secret)).toBeLessThan(PROMISED_MS);
});

test("signing out of one process signs out of the other", async () => {
  const [here, there] = both();
  const { token } = await here.signUp("leaver");
  expect(await statusOf(there, token)).toBe(200);
  await here.call("POST", "/-/v1/logout", { token });
  expect(await refusedAfter(there, token)).toBeLessThan(PROMISED_MS);
});

test("a process that has lost its database says that it is not ready, and is ready again when it is back", async () => {
  const gate = await openTcpGate(database.url);
  const cut = await startTestQuayside({ DATABASE_URL: gate.url }, "api");
  onTestFinished(async () => {
    await cut.stop();
    await gate.close();
  });
  const ready = () => cut.call("GET", "/readyz");
  expect((await ready()).body).toMatchObject({ status: "ready", broker: "up", db: "up" });
  gate.shut();
  const down = await until("it is not ready", async () => {
    const reply = await ready();
    return reply.body.broker === "down" ? reply : null;
  });
  expect([down.status, down.body.status]).toEqual([503, "not ready"]);
  expect((await cut.call("GET", "/livez")).status).toBe(200);
  gate.reopen();
  await until("it is ready again", async () => (await ready()).status === 200);
});
