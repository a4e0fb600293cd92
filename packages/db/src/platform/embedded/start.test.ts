import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { startEmbeddedPostgres, stopAbandonedPostgres } from "./index.ts";
import { OWNER_FILE } from "./owner.ts";
import { isPostmasterOf } from "./process.ts";
import { ask, holdInProcess, killServer, PASSWORD, serverPid, start, temporaryFolder } from "./testing/support.ts";

test("starts on a fresh folder with the promised settings and is gone after stop", async () => {
  const dataDir = join(await temporaryFolder(), "not", "there", "yet");
  const server = await start(dataDir);
  expect(server).toMatchObject({ reused: false, note: null, location: dataDir });
  expect(server.url).toBe(`postgres://quayside:${PASSWORD}@127.0.0.1:${server.port}/quayside`);
  const settings = `select jsonb_object_agg(name, setting) from pg_settings where name in
    ('server_encoding', 'max_connections', 'listen_addresses', 'unix_socket_directories', 'fsync')`;
  expect(await ask(server.url, settings)).toEqual({
    server_encoding: "UTF8",
    max_connections: "200",
    listen_addresses: "127.0.0.1",
    unix_socket_directories: "",
    fsync: "off",
  });
  expect(await ask(server.url, "select lower('ÄÉ') collate \"default\"")).toBe("äé");
  const pid = await serverPid(dataDir);
  await Promise.all([server.stop(), server.stop()]);
  await server.stop();
  expect(await isPostmasterOf(pid, join(dataDir, "cluster"))).toBe(false);
  expect((await readdir(dataDir)).sort()).toEqual(["cluster", "postgres.log"]);
});

test("is durable by default, and hands the server's own lines to onLog once each", async () => {
  const dataDir = await temporaryFolder();
  const lines: string[] = [];
  for (const round of [1, 2]) {
    const options = { dataDir, password: PASSWORD, onLog: (line: string) => lines.push(line) };
    const server = await startEmbeddedPostgres(options);
    onTestFinished(() => killServer(dataDir));
    expect(await ask(server.url, "select current_setting('fsync') || current_setting('full_page_writes')")).toBe(
      "onon",
    );
    await vi.waitFor(() => expect(lines.filter((line) => line.includes("ready to accept"))).toHaveLength(round));
    await server.stop();
    expect(lines.filter((line) => line.includes("database system is shut down"))).toHaveLength(round);
  }
});

test("keeps the data over a restart and refuses another password in one clear sentence", async () => {
  const dataDir = await temporaryFolder();
  const first = await start(dataDir);
  await ask(first.url, "create table kept as select 42 as answer");
  await first.stop();
  await expect(start(dataDir, "ffffffffffffffffffff")).rejects.toThrow(/created with another password/);
  expect(await serverPid(dataDir)).toBe(0);
  const second = await start(dataDir);
  expect(await ask(second.url, "select answer from kept")).toBe(42);
  expect(second.reused).toBe(false);
  await expect(ask(second.url.replace(PASSWORD, "00"), "select 1")).rejects.toThrow(/password authentication failed/);
});

test("refuses a password that is not hexadecimal", async () => {
  const options = { dataDir: "unused", password: "p@ss/word-that-breaks-urls", onLog: () => undefined };
  await expect(startEmbeddedPostgres(options)).rejects.toThrow(TypeError);
});

test("two starts at the same moment make one cluster and one server", async () => {
  const dataDir = await temporaryFolder();
  const servers = await Promise.all([start(dataDir), start(dataDir), holdInProcess(dataDir)]);
  expect(servers.filter(({ reused }) => !reused)).toHaveLength(1);
  expect(new Set(servers.map(({ url }) => url)).size).toBe(1);
  const owner = servers.find(({ reused }) => !reused);
  for (const server of servers) {
    if (server === owner) continue;
    if ("stop" in server) await server.stop();
    else {
      server.child.stdin?.end();
      await server.exited;
    }
  }
  expect(await ask(servers[0].url, "select 1")).toBe(1);
});

test("a server left by a killed process is reused, taken over and stopped", async () => {
  const dataDir = await temporaryFolder();
  const killed = await holdInProcess(dataDir);
  await ask(killed.url, "create table kept as select 42 as answer");
  const pid = await serverPid(dataDir);
  killed.child.kill("SIGKILL");
  await killed.exited;
  expect(await isPostmasterOf(pid, join(dataDir, "cluster"))).toBe(true);
  const server = await start(dataDir);
  expect(server).toMatchObject({ reused: true, url: killed.url });
  expect(await ask(server.url, "select answer from kept")).toBe(42);
  expect(JSON.parse(await readFile(join(dataDir, OWNER_FILE), "utf8"))).toMatchObject({ pid: process.pid });
  await server.stop();
  expect(await isPostmasterOf(pid, join(dataDir, "cluster"))).toBe(false);
});

test("a server of a living process is left running by the second one, until the owner is gone", async () => {
  const dataDir = await temporaryFolder();
  const owner = await holdInProcess(dataDir);
  const second = await start(dataDir);
  const third = await start(dataDir);
  expect(second.reused).toBe(true);
  await second.stop();
  expect(await ask(owner.url, "select 1")).toBe(1);
  expect(await stopAbandonedPostgres(dataDir)).toBe(false);
  owner.child.kill("SIGKILL");
  await owner.exited;
  await third.stop();
  expect(await serverPid(dataDir)).toBe(0);
});

test("the owner's own stop ends the server of a separate process", async () => {
  const dataDir = await temporaryFolder();
  const owner = await holdInProcess(dataDir);
  owner.child.stdin?.end();
  await owner.exited;
  expect(await serverPid(dataDir)).toBe(0);
  expect(await stopAbandonedPostgres(dataDir)).toBe(true);
});

test("a server that was killed is started anew with all its data, and a late stop of the old start spares it", async () => {
  const dataDir = await temporaryFolder();
  // Durable: otherwise a commit is on its way for a moment after it was answered, and may be lost.
  const old = await start(dataDir, PASSWORD, true);
  await ask(old.url, "create table kept as select 42 as answer");
  process.kill(await serverPid(dataDir), "SIGKILL");
  await vi.waitFor(() => expect(ask(old.url, "select 1")).rejects.toThrow());
  const fresh = await start(dataDir);
  expect(fresh.reused).toBe(false);
  await old.stop();
  expect(await ask(fresh.url, "select answer from kept")).toBe(42);
});

test("a process number that another program has by now is not taken for the server", async () => {
  const dataDir = await temporaryFolder();
  await (await start(dataDir)).stop();
  const other = spawn("sleep", ["60"], { stdio: "ignore" });
  onTestFinished(() => {
    other.kill();
  });
  const cluster = join(dataDir, "cluster");
  const lines = [other.pid, cluster, 1, 5432, "", "127.0.0.1", "", "ready"];
  await writeFile(join(cluster, "postmaster.pid"), `${lines.join("\n")}\n`);
  const server = await start(dataDir);
  expect(server.reused).toBe(false);
  expect(await ask(server.url, "select 1")).toBe(1);
  await server.stop();
  expect(other.exitCode).toBeNull();
  expect(other.signalCode).toBeNull();
});

test("an owner file of a process number that another program has by now counts as dead", async () => {
  const dataDir = await temporaryFolder();
  const killed = await holdInProcess(dataDir);
  killed.child.kill("SIGKILL");
  await killed.exited;
  await writeFile(join(dataDir, OWNER_FILE), JSON.stringify({ pid: process.pid, identity: "1" }));
  const server = await start(dataDir);
  await server.stop();
  expect(await serverPid(dataDir)).toBe(0);
});

test("an initdb that was killed half-way is repeated", async () => {
  const dataDir = await temporaryFolder();
  const half = join(dataDir, "cluster.tmp-000000000000");
  await mkdir(join(half, "base"), { recursive: true });
  await writeFile(join(half, "PG_VERSION"), "18\n");
  await writeFile(`${half}.password`, "left behind");
  const server = await start(dataDir);
  expect(await ask(server.url, "select 1")).toBe(1);
  await server.stop();
  expect((await readdir(dataDir)).sort()).toEqual(["cluster", "postgres.log"]);
});

test("a folder in the cluster's place that is no cluster is left alone", async () => {
  const dataDir = await temporaryFolder();
  await mkdir(join(dataDir, "cluster"));
  await writeFile(join(dataDir, "cluster", "holiday.txt"), "sun");
  await expect(start(dataDir)).rejects.toThrow(/is no PostgreSQL cluster/);
  expect(existsSync(join(dataDir, "cluster", "holiday.txt"))).toBe(true);
});
