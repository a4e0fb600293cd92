import { type ChildProcess, spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { createTestDatabase } from "./database.ts";
import { ADMIN, type CallOptions, callJson, type Reply, SECRETS } from "./quayside.ts";
import { until } from "./until.ts";

const MAIN = join(dirname(fileURLToPath(import.meta.url)), "../../packages/server/src/main.ts");

export interface Installation {
  baseUrl: string;
  appsPort: number;
  dataDir: string;
  databaseUrl: string;
  /** Starts a process of the installation and waits until it is ready. */
  start(role?: "all" | "api" | "worker", env?: Record<string, string>): Promise<QuaysideProcess>;
  call(method: string, path: string, options?: CallOptions): Promise<Reply>;
  signIn(): Promise<string>;
  /** Ends what still runs, drops the database and removes the folder. */
  remove(): Promise<void>;
}

export interface QuaysideProcess {
  pid: number;
  /** Everything that it wrote so far. */
  output(): string;
  /** SIGKILL: as a crash of the machine would. */
  crash(): Promise<void>;
  /** SIGTERM; resolves with the exit code. */
  stop(): Promise<number | null>;
}

/** An installation whose processes are real ones, so that they can be killed and started again. */
export async function createInstallation(env: Record<string, string> = {}): Promise<Installation> {
  const database = await createTestDatabase();
  const dataDir = await mkdtemp(join(tmpdir(), "quayside-test-"));
  const [port, appsPort] = [await freePort(), await freePort()];
  const baseUrl = `http://127.0.0.1:${port}`;
  const running = new Set<QuaysideProcess>();
  const settings: Record<string, string> = {
    ...SECRETS,
    DATABASE_URL: database.url,
    DATA_DIR: dataDir,
    PORT: String(port),
    APPS_PORT: String(appsPort),
    BASE_URL: baseUrl,
    LOG_LEVEL: "info",
    BOOTSTRAP_ADMIN_USER: ADMIN.username,
    BOOTSTRAP_ADMIN_PASSWORD: ADMIN.password,
    BOOTSTRAP_GRANT_SUPER_ADMIN: "true",
    DRAIN_TIMEOUT_MS: "2000",
    PATH: process.env["PATH"] ?? "",
    HOME: dataDir,
    ...env,
  };
  const call = (method: string, path: string, options: CallOptions = {}) => callJson(baseUrl, method, path, options);
  return {
    baseUrl,
    appsPort,
    dataDir,
    databaseUrl: database.url,
    call,
    async start(role = "all", more = {}) {
      const child = spawn(process.execPath, [MAIN, role], {
        env: { ...settings, ...more },
        stdio: ["ignore", "pipe", "pipe"],
      });
      const started = await watch(child);
      running.add(started);
      return started;
    },
    async signIn() {
      const { username, password } = ADMIN;
      const reply = await call("POST", "/-/v1/login", { body: { username, password } });
      return reply.body.token;
    },
    async remove() {
      for (const started of running) await started.stop();
      await database.drop();
      await rm(dataDir, { recursive: true, force: true });
    },
  };
}

async function watch(child: ChildProcess): Promise<QuaysideProcess> {
  let output = "";
  const collect = (chunk: Buffer) => {
    output += chunk.toString();
  };
  child.stdout?.on("data", collect);
  child.stderr?.on("data", collect);
  const exited = new Promise<number | null>((resolve) => child.once("exit", resolve));
  const end = (signal: NodeJS.Signals) => {
    if (child.exitCode === null && child.signalCode === null) child.kill(signal);
    return exited;
  };
  await until("Quayside says that it is ready", () => {
    if (child.exitCode !== null) throw new Error(`Quayside ended with ${child.exitCode}:\n${output}`);
    return output.includes('"msg":"ready"');
  });
  return {
    pid: child.pid ?? 0,
    output: () => output,
    async crash() {
      await end("SIGKILL");
    },
    stop: () => end("SIGTERM"),
  };
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once("error", reject);
    server.listen(0, "127.0.0.1", () => {
      const address = server.address();
      server.close(() => resolve(typeof address === "object" && address ? address.port : 0));
    });
  });
}
