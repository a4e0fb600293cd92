import { type DatabasePool, openDatabase, withTransaction } from "@quayside/db";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { createTestDatabase, type TestDatabase } from "../../../../test/support/database.ts";
import { quietLog } from "../../../../test/support/services.ts";
import { openTcpGate, type TcpGate } from "../../../../test/support/tcp-gate.ts";
import { until } from "../../../../test/support/until.ts";
import { type Listener, PostgresBroker, publish } from "./broker.ts";

let database: TestDatabase;
let db: DatabasePool;

beforeAll(async () => {
  database = await createTestDatabase();
  db = openDatabase(database.url, { poolSize: 3, applicationName: "publisher" });
});

afterAll(async () => {
  await db.close();
  await database.drop();
});

class Ear implements Listener {
  readonly heard: string[] = [];
  gaps = 0;
  message(payload: string): void {
    this.heard.push(payload);
  }
  gap(): void {
    this.gaps += 1;
  }
}

/** A broker whose way to the database can be shut. */
async function openBroker(): Promise<{ broker: PostgresBroker; gate: TcpGate }> {
  const gate = await openTcpGate(database.url);
  const broker = await PostgresBroker.open(gate.url, quietLog);
  onTestFinished(async () => {
    await broker.close();
    await gate.close();
  });
  return { broker, gate };
}

/** The server's session that listens to the channel. */
async function listeningSession(channel: string): Promise<number | undefined> {
  const [row] = await db.sql<{ pid: number }[]>`
    SELECT pid FROM pg_stat_activity WHERE application_name = 'quayside-broker' AND datname = current_database()
      AND query = ${`LISTEN "${channel}"`}`;
  return row?.pid;
}

/** Everything published before on any channel has arrived when this has. */
async function settle(broker: PostgresBroker): Promise<void> {
  const ear = new Ear();
  const channel = `settle:${Math.random()}`;
  const end = await broker.subscribe(channel, ear);
  await publish(db, channel, "now");
  await until("the last message arrives", () => ear.heard.length > 0);
  end();
}

test("a message published in a transaction arrives after its commit, not before", async () => {
  const { broker } = await openBroker();
  const ear = new Ear();
  await broker.subscribe("after-commit", ear);
  await withTransaction(db, async (tx) => {
    await publish(tx, "after-commit", "done");
    await settle(broker);
    expect(ear.heard).toEqual([]);
  });
  await until("the message arrives", () => ear.heard.length > 0);
  expect(ear.heard).toEqual(["done"]);
});

test("a message of a transaction that is rolled back never arrives", async () => {
  const { broker } = await openBroker();
  const ear = new Ear();
  await broker.subscribe("rolled-back", ear);
  const failing = withTransaction(db, async (tx) => {
    await publish(tx, "rolled-back", "never");
    throw new Error("no");
  });
  await expect(failing).rejects.toThrow("no");
  await settle(broker);
  expect(ear.heard).toEqual([]);
});

test("every subscriber of a channel hears it, those of other channels do not", async () => {
  const { broker } = await openBroker();
  const [one, two, other] = [new Ear(), new Ear(), new Ear()];
  await broker.subscribe("shared", one);
  await broker.subscribe("shared", two);
  await broker.subscribe("elsewhere", other);
  await publish(db, "shared", "hello");
  await until("both hear it", () => one.heard.length > 0 && two.heard.length > 0);
  await settle(broker);
  expect([one.heard, two.heard, other.heard]).toEqual([["hello"], ["hello"], []]);
});

test("a channel may have any name", async () => {
  const { broker } = await openBroker();
  const name = 'Ünlisten "; DROP TABLE users; --';
  const ear = new Ear();
  await broker.subscribe(name, ear);
  await publish(db, name, "ok");
  await until("the message arrives", () => ear.heard.length > 0);
  expect(ear.heard).toEqual(["ok"]);
});

test("a session that the server ends is opened again, listens again, and every listener is told of the gap", async () => {
  const { broker, gate } = await openBroker();
  const [one, two] = [new Ear(), new Ear()];
  await broker.subscribe("killed:one", one);
  await broker.subscribe("killed:two", two);
  const pid = await until("the session is seen", () => listeningSession("killed:two"));
  gate.shut();
  await db.sql`SELECT pg_terminate_backend(${pid})`;
  await until("the loss is noticed", () => !broker.connected);
  await publish(db, "killed:one", "missed");
  expect([one.gaps, two.gaps]).toEqual([0, 0]);
  gate.reopen();
  await until("the broker is back", () => broker.connected && one.gaps > 0);
  expect([one.gaps, two.gaps]).toEqual([1, 1]);
  await publish(db, "killed:one", "one");
  await publish(db, "killed:two", "two");
  await until("both hear again", () => one.heard.length > 0 && two.heard.length > 0);
  expect([one.heard, two.heard]).toEqual([["one"], ["two"]]);
});

test("pg_terminate_backend alone is survived", async () => {
  const { broker } = await openBroker();
  const ear = new Ear();
  await broker.subscribe("terminated", ear);
  const pid = await until("the session is seen", () => listeningSession("terminated"));
  await db.sql`SELECT pg_terminate_backend(${pid})`;
  await until("the gap is told", () => ear.gaps > 0);
  expect(broker.connected).toBe(true);
  await publish(db, "terminated", "heard");
  await until("it hears again", () => ear.heard.length > 0);
});

test("who subscribes while the connection is away is listened to and told of a gap when it is back", async () => {
  const { broker, gate } = await openBroker();
  gate.shut();
  await until("the loss is noticed", () => !broker.connected);
  const ear = new Ear();
  await broker.subscribe("subscribed-offline", ear);
  gate.reopen();
  await until("the gap is told", () => ear.gaps > 0);
  await publish(db, "subscribed-offline", "heard");
  await until("it hears", () => ear.heard.length > 0);
  expect(ear.heard).toEqual(["heard"]);
});

test("a long outage is retried ever more seldom, and leaves one connection that delivers each message once", async () => {
  const { broker, gate } = await openBroker();
  const ear = new Ear();
  await broker.subscribe("outage", ear);
  const before = gate.tried;
  gate.shut();
  // Waiting 50, 100, 200, 400 and 800 ms, the fifth retry comes after 1.5 s.
  await until("five retries were made", () => gate.tried >= before + 5);
  gate.reopen();
  await until("the broker is back", () => broker.connected && ear.gaps > 0);
  expect(gate.tried - before).toBeLessThanOrEqual(8);
  expect(gate.open).toBe(1);
  expect(ear.gaps).toBe(1);
  await publish(db, "outage", "once");
  await settle(broker);
  expect(ear.heard).toEqual(["once"]);
  expect(gate.open).toBe(1);
});

test("a broker that cannot connect at the start says so and does not go on trying", async () => {
  const gate = await openTcpGate(database.url);
  onTestFinished(() => gate.close());
  gate.shut();
  await expect(PostgresBroker.open(gate.url, quietLog)).rejects.toThrow();
  const tried = gate.tried;
  gate.reopen();
  // As long as a real broker takes for a loss, a reconnect and a message.
  const { broker } = await openBroker();
  await settle(broker);
  expect(gate.tried).toBe(tried);
  expect(gate.open).toBe(0);
});

test("after unsubscribing nothing is heard, and the channel is no longer listened to", async () => {
  const { broker } = await openBroker();
  const ear = new Ear();
  const end = await broker.subscribe("left", ear);
  end();
  end();
  await publish(db, "left", "late");
  await settle(broker);
  expect(ear.heard).toEqual([]);
});

test("subscribing again while the channel is being left does not lose the channel", async () => {
  const { broker } = await openBroker();
  for (let round = 0; round < 30; round += 1) {
    const channel = `race:${round}`;
    const [first, second] = [new Ear(), new Ear()];
    const end = await broker.subscribe(channel, first);
    end();
    const endSecond = await broker.subscribe(channel, second);
    await publish(db, channel, "heard");
    await until(`round ${round} is heard`, () => second.heard.length > 0);
    expect(first.heard).toEqual([]);
    endSecond();
  }
});

test("a broker that is closed lets go of its connection and is not connected", async () => {
  const { broker, gate } = await openBroker();
  await broker.subscribe("closing", new Ear());
  await broker.close();
  expect(broker.connected).toBe(false);
  await until("the connection is gone", () => gate.open === 0);
});
