import { execFileSync } from "node:child_process";
import { chmodSync, existsSync, mkdirSync, readFileSync } from "node:fs";
import { get } from "node:http";
import { createServer } from "node:net";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { parseEnv } from "node:util";
import { startEmbeddedPostgres } from "@quayside/db";
import { createQuayside, type Quayside } from "@quayside/sdk";
import { type Child, NODE_OPTIONS, ROOT, startProgram } from "./children.ts";

const READY_LIMIT_MS = 60_000;
const PROBE_INTERVAL_MS = 5;
export const GATEWAY_SECRET = "gateway-secret-of-the-benchmarks";
const NO_LIMIT = 1_000_000_000;

/** One Quayside as `npm start` starts it, in a process and a data folder of its own. */
export interface Installation {
  pid: number;
  baseUrl: string;
  appsPort: number;
  dataDir: string;
  /** From the start of the process to the first 200 of /readyz. */
  readyMs: number;
  /** What the server's environment is, for programs that talk to it. */
  env: Record<string, string>;
  /** Resident memory of the process, in MB. */
  memory(): number;
  /** Signs in and makes an API key without a limit that is in the way. */
  connect(): Promise<Client>;
  databaseUrl(): Promise<string>;
  stop(): Promise<void>;
}

export interface Client {
  key: string;
  quayside: Quayside;
}

export async function startInstallation(dataDir: string): Promise<Installation> {
  refuseOtherDatabase();
  mkdirSync(dataDir, { recursive: true });
  // The system user of the database passes through, when this runs as root.
  chmodSync(dataDir, 0o711);
  const [port, appsPort] = [await freePort(), await freePort()];
  const baseUrl = `http://127.0.0.1:${port}`;
  const env = {
    DATA_DIR: dataDir,
    HOST: "127.0.0.1",
    PORT: String(port),
    BASE_URL: baseUrl,
    APPS_HOST: "127.0.0.1",
    APPS_PORT: String(appsPort),
    APPS_DOMAIN: "localhost",
    APPS_ON_STOP: "stop",
    NODE_ENV: "development",
    LOG_LEVEL: "info",
    GATEWAY_SECRET,
  };
  const startedAt = performance.now();
  const child = startProgram("Quayside", [...NODE_OPTIONS, "packages/server/src/main.ts", "all"], env);
  await untilReady(child, baseUrl);
  const readyMs = performance.now() - startedAt;
  const secrets = parseEnv(readFileSync(join(dataDir, "secrets.env"), "utf8"));
  return {
    pid: child.pid,
    baseUrl,
    appsPort,
    dataDir,
    readyMs,
    env,
    memory: () => residentMegabytes(child.pid),
    connect: () => connect(baseUrl, secrets.BOOTSTRAP_ADMIN_USER ?? "", secrets.BOOTSTRAP_ADMIN_PASSWORD ?? ""),
    async databaseUrl() {
      // Joins the server that runs there already; it stays the other process's.
      const password = secrets.QUAYSIDE_DATABASE_PASSWORD ?? "";
      return (await startEmbeddedPostgres({ dataDir: join(dataDir, "postgres"), password, onLog() {} })).url;
    },
    stop: () => child.stop(),
  };
}

/** `.env` counts for every process of this folder; a real database is no place for a benchmark. */
function refuseOtherDatabase(): void {
  const file = join(ROOT, ".env");
  if (!existsSync(file) || !parseEnv(readFileSync(file, "utf8")).DATABASE_URL) return;
  throw new Error("The file .env sets DATABASE_URL; take it out first: benchmarks run on an embedded database.");
}

async function untilReady(child: Child, baseUrl: string): Promise<void> {
  const deadline = performance.now() + READY_LIMIT_MS;
  while ((await statusOf(`${baseUrl}/readyz`)) !== 200) {
    if (child.ended) throw child.failure("ended before it was ready");
    if (performance.now() > deadline) throw child.failure(`was not ready within ${READY_LIMIT_MS / 1_000} s`);
    await sleep(PROBE_INTERVAL_MS);
  }
}

function statusOf(url: string): Promise<number | null> {
  return new Promise((resolve) => {
    get(url, { agent: false }, (res) => {
      res.resume();
      resolve(res.statusCode ?? null);
    }).on("error", () => resolve(null));
  });
}

async function connect(baseUrl: string, username: string, password: string): Promise<Client> {
  const session = await createQuayside({ baseUrl }).api.identity.sessions.login.mutate({ username, password });
  const person = createQuayside({ baseUrl, token: session.token });
  const { secret } = await person.api.identity.apiKeys.create.mutate({
    name: "benchmark",
    environment: "test",
    scopes: ["read", "write"],
    rateLimitOverride: { read: NO_LIMIT, write: NO_LIMIT },
  });
  return { key: secret, quayside: createQuayside({ baseUrl, token: secret }) };
}

function residentMegabytes(pid: number): number {
  const status = `/proc/${pid}/status`;
  const kilobytes = existsSync(status)
    ? /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(status, "utf8"))?.[1]
    : execFileSync("ps", ["-o", "rss=", "-p", String(pid)], { encoding: "utf8" }).trim();
  if (!kilobytes) throw new Error(`The memory of process ${pid} cannot be read.`);
  return (Number(kilobytes) * 1_024) / 1_000_000;
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once("error", reject);
    server.listen(0, "127.0.0.1", () => {
      const address = server.address();
      const port = typeof address === "object" && address ? address.port : 0;
      server.close(() => resolve(port));
    });
  });
}
