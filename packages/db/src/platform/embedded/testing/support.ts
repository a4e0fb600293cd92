import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { chmod, mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import postgres from "postgres";
import { onTestFinished } from "vitest";
import { type EmbeddedPostgres, startEmbeddedPostgres } from "../index.ts";
import { readPostmaster } from "../process.ts";
import { freePort, stopServer } from "../server.ts";

/** The password of every cluster made by these tests. */
export const PASSWORD = "00112233445566778899aabbccddeeff";

/** A folder that is removed after the test; root's database user can pass through it unless `mode` says otherwise. */
export async function temporaryFolder(mode = 0o711): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "quayside-embedded-"));
  await chmod(folder, mode);
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

/** Starts, without durability unless asked, and stops whatever runs on the folder however the test ends. */
export async function start(dataDir: string, password: string = PASSWORD, fsync = false): Promise<EmbeddedPostgres> {
  const server = await startEmbeddedPostgres({ dataDir, password, onLog: () => undefined, fsync });
  onTestFinished(() => killServer(server.location));
  return server;
}

/** Ends the server of a location, whoever owns it. */
export async function killServer(location: string): Promise<void> {
  const cluster = join(location, "cluster");
  const running = await readPostmaster(cluster);
  const place = { location, cluster, user: null, note: null };
  if (running) await stopServer({ installation: { native: "", version: "" }, place }, running.pid);
}

/** The first column of the first row of a query. */
export async function ask(url: string, text: string): Promise<unknown> {
  const sql = postgres(url, { max: 1, connect_timeout: 5, onnotice: () => undefined });
  try {
    const [row] = await sql.unsafe(text);
    return row === undefined ? null : Object.values(row)[0];
  } finally {
    await sql.end({ timeout: 1 });
  }
}

/** Number of the server process on a location; 0 when none has its file there. */
export async function serverPid(location: string): Promise<number> {
  return (await readPostmaster(join(location, "cluster")))?.pid ?? 0;
}

/** Starts the server from a process of its own and waits until it says where it is. */
export async function holdInProcess(
  dataDir: string,
): Promise<{ child: ChildProcess; exited: Promise<unknown>; url: string; reused: boolean }> {
  const script = fileURLToPath(new URL("./start-and-hold.ts", import.meta.url));
  const child = spawn(process.execPath, [script, dataDir, PASSWORD], { stdio: ["pipe", "pipe", "inherit"] });
  const exited = once(child, "exit");
  onTestFinished(async () => {
    child.kill("SIGKILL");
    await killServer(dataDir);
  });
  const lines = createInterface({ input: child.stdout });
  const [line]: string[] = await Promise.race([
    once(lines, "line"),
    exited.then(() => Promise.reject(new Error("The process ended before its server was ready."))),
  ]);
  return { child, exited, ...JSON.parse(line ?? "{}") };
}

/** A port in use until the test ends. */
export async function takenPort(): Promise<number> {
  const port = await freePort();
  const server = createServer().listen(port, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.close();
  });
  return port;
}
