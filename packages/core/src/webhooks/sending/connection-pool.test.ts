import { lookup } from "node:dns/promises";
import { expect, test } from "vitest";
import { ConnectionPool } from "./connection-pool.ts";
import { HostResolver } from "./host-resolver.ts";
import { parseTarget } from "./parse-target.ts";
import { ReceiverConnection } from "./receiver-connection.ts";
import { SendProgress } from "./send-progress.ts";
import { receiverOf } from "./testing/receivers.ts";

const { signal } = new AbortController();
const rules = { allowPrivateNetworks: true, requireHttps: false };
const resolver = new HostResolver({ lookup, allowPrivateNetworks: true });

async function connectionTo(url: string): Promise<ReceiverConnection> {
  const connection = new ReceiverConnection(parseTarget(url, rules), resolver, () => {});
  await connection.post({ path: "/", headers: {}, body: Buffer.from("{}") }, 100, new SendProgress(), signal);
  return connection;
}

test("places are given in the order of asking, past those whose origin has none", async () => {
  const pool = new ConnectionPool({ maxActivePerOrigin: 1, maxActive: 2, maxIdle: 1 });
  const admitted: string[] = [];
  const ask = (origin: string, name: string) => pool.take(origin, signal).then(() => admitted.push(name));
  await Promise.all([ask("http://a", "a1"), ask("http://b", "b1")]);
  const waiting = [ask("http://a", "a2"), ask("http://b", "b2"), ask("http://c", "c1")];
  pool.release("http://b", null);
  await waiting[1];
  expect(admitted).toEqual(["a1", "b1", "b2"]);
  pool.release("http://b", null);
  await waiting[2];
  pool.release("http://a", null);
  await waiting[0];
  expect(admitted).toEqual(["a1", "b1", "b2", "c1", "a2"]);
});

test("of more idle connections than may be kept, the one that was used longest ago is closed", async () => {
  const pool = new ConnectionPool({ maxActivePerOrigin: 1, maxActive: 2, maxIdle: 1 });
  const [older, newer] = await Promise.all([receiverOf((_, res) => res.end()), receiverOf((_, res) => res.end())]);
  const connections = [await connectionTo(older.url), await connectionTo(newer.url)];
  for (const connection of connections) {
    await pool.take(connection.origin, signal);
    pool.release(connection.origin, connection);
  }
  await older.closed(0);
  expect(await pool.take(connections[1]?.origin ?? "", signal)).toBe(connections[1]);
  connections[1]?.close();
});

test("a closed pool keeps nothing", async () => {
  const pool = new ConnectionPool({ maxActivePerOrigin: 1, maxActive: 2, maxIdle: 1 });
  const receiver = await receiverOf((_, res) => res.end());
  const connection = await connectionTo(receiver.url);
  await pool.take(connection.origin, signal);
  pool.close();
  pool.release(connection.origin, connection);
  await receiver.closed(0);
});
