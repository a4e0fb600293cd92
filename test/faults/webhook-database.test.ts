import { expect, onTestFinished, test } from "vitest";
import { createInstallation } from "../support/quayside-process.ts";
import { connectTo } from "../support/sql.ts";
import { openTcpGate } from "../support/tcp-gate.ts";
import { until } from "../support/until.ts";
import { deliveriesOf, endLeases, fillOutbox, subscriberOf, untilDeliveries } from "../support/webhook-deliveries.ts";
import { openReceiver, type Receiver, timesById } from "../support/webhook-receiver.ts";

const TIMEOUT_MS = 2_000;
/** The longest request, and some more. */
const LEASE_MS = TIMEOUT_MS + 15_000;

/** An API and a worker; the worker's way to the database can be cut. */
async function install() {
  const installation = await createInstallation({ WEBHOOK_TIMEOUT_MS: `${TIMEOUT_MS}`, WEBHOOK_RETRY_BASE_MS: "50" });
  const sql = connectTo(installation.databaseUrl);
  const receiver = await openReceiver();
  const gate = await openTcpGate(installation.databaseUrl);
  onTestFinished(async () => {
    await receiver.stop();
    await sql.end({ timeout: 1 });
    gate.reopen();
    await installation.remove();
    await gate.close();
  });
  const [, worker] = await Promise.all([
    installation.start("api"),
    installation.start("worker", { DATABASE_URL: gate.url }),
  ]);
  const token = await installation.signIn();
  const whoami = await installation.call("GET", "/api/v1/whoami", { token });
  const subscriber = subscriberOf(installation, { token, organizationId: whoami.body.organization.id });
  return { sql, gate, worker, receiver, webhookId: await subscriber.subscribe(receiver.url) };
}

function expectEachOnce(receiver: Receiver, count: number): void {
  expect(timesById(receiver).size).toBe(count);
  expect(receiver.received).toHaveLength(count);
}

test("a database that goes away under load and comes back: the worker lives, and each delivery arrives", async () => {
  const { sql, gate, worker, receiver, webhookId } = await install();
  await fillOutbox(sql, webhookId, 1_000);
  await until("some have arrived", () => receiver.received.length > 200);
  const tried = gate.tried;
  gate.shut();
  await until("the worker looks for its database", () => gate.tried > tried + 3);
  gate.reopen();
  const reopenedAt = Date.now();
  // What was claimed by statements whose answer was lost waits for its lease; all else goes on by itself.
  await until(
    "all are delivered, save what is leased since before",
    async () => {
      const rows = await deliveriesOf(sql, webhookId);
      return rows.every(({ status, nextAttemptAt, attempts }) => {
        return status === "delivered" || (attempts > 0 && Date.parse(nextAttemptAt ?? "") < reopenedAt + LEASE_MS);
      });
    },
    30_000,
  );
  expect((await untilDeliveries(sql, webhookId, "delivered", 800)).length).toBe(timesById(receiver).size);
  await endLeases(sql);
  await untilDeliveries(sql, webhookId, "delivered", 1_000, 30_000);
  // Results are kept until they can be stored, so that none is sent twice.
  expectEachOnce(receiver, 1_000);
  expect(worker.output()).not.toMatch(/unhandled/i);
  expect(await worker.stop()).toBe(0);
});

test("answers that came while the database was away are recorded when it is back, and nothing is sent again", async () => {
  const { sql, gate, receiver, webhookId } = await install();
  receiver.answer = () => null;
  await fillOutbox(sql, webhookId, 10);
  await until("10 are open", () => receiver.open === 10);
  gate.shut();
  receiver.release({ status: 200 });
  const tried = gate.tried;
  await until("the worker looks for its database", () => gate.tried > tried + 3);
  gate.reopen();
  await untilDeliveries(sql, webhookId, "delivered", 10, 30_000);
  expectEachOnce(receiver, 10);
});

test("sessions of the database that are ended again and again under load lose nothing", async () => {
  const { sql, worker, receiver, webhookId } = await install();
  for (let round = 1; round <= 5; round++) {
    await fillOutbox(sql, webhookId, 200);
    await until("some have arrived", () => receiver.received.length > (round - 1) * 200 + 20);
    await sql`
      SELECT pg_terminate_backend(pid) FROM pg_stat_activity
      WHERE datname = current_database() AND application_name LIKE 'quayside-worker%'`;
    await until(
      "the round has arrived, or waits for a lease",
      async () => {
        const rows = await deliveriesOf(sql, webhookId);
        return rows.every(({ status, attempts }) => status === "delivered" || attempts > 0);
      },
      30_000,
    );
  }
  await endLeases(sql);
  await untilDeliveries(sql, webhookId, "delivered", 1_000, 30_000);
  expect(timesById(receiver).size).toBe(1_000);
  expect(await worker.stop()).toBe(0);
});
