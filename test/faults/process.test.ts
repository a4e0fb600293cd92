import { execFile } from "node:child_process";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished, test } from "vitest";
import { openEventStream, type StreamEvent } from "../support/event-stream.ts";
import { createInstallation, type Installation } from "../support/quayside-process.ts";
import { connectTo } from "../support/sql.ts";
import { until } from "../support/until.ts";

const MAIN = join(dirname(fileURLToPath(import.meta.url)), "../../packages/server/src/main.ts");
const TIMEOUT_MS = 60_000;

async function install(env: Record<string, string> = {}): Promise<Installation> {
  const installation = await createInstallation(env);
  onTestFinished(() => installation.remove());
  return installation;
}

function database({ databaseUrl }: Installation) {
  const sql = connectTo(databaseUrl);
  onTestFinished(() => sql.end({ timeout: 1 }));
  return sql;
}

/** A process that is expected to end by itself. */
function run(role: string, env: Record<string, string>): Promise<{ code: number; stderr: string }> {
  return new Promise((resolve) => {
    const path = process.env["PATH"] ?? "";
    execFile(
      process.execPath,
      [MAIN, role],
      { env: { PATH: path, ...env }, timeout: 30_000 },
      (error, _out, stderr) => {
        resolve({ code: typeof error?.code === "number" ? error.code : error ? -1 : 0, stderr });
      },
    );
  });
}

async function queueDeployment(installation: Installation, token: string): Promise<string> {
  const repo = "https://127.0.0.1:9/nothing-answers-here.git";
  const project = await installation.call("POST", "/api/projects", { token, body: { name: "queued", repo } });
  const body = { projectId: project.body.id, branch: "main", commitSha: "0123456789abcdef0123456789abcdef01234567" };
  const created = await installation.call("POST", "/api/deployments", { token, body });
  expect(created.status).toBe(201);
  return created.body.id;
}

test(
  "a process says when it is ready and where, without any secret, and SIGTERM ends it with 0",
  async () => {
    const installation = await install();
    const quayside = await installation.start();
    await until("the announcement is out", () => quayside.output().includes("API and docs"));
    expect(quayside.output()).toContain(`${installation.baseUrl}/docs`);
    expect(quayside.output()).not.toContain("correct horse battery");
    expect((await installation.call("GET", "/readyz")).status).toBe(200);
    expect(await quayside.stop()).toBe(0);
    await expect(fetch(`${installation.baseUrl}/livez`)).rejects.toThrow();
  },
  TIMEOUT_MS,
);

test(
  "SIGTERM ends open event streams cleanly, at once",
  async () => {
    const installation = await install();
    const quayside = await installation.start("api");
    const token = await installation.signIn();
    const deployment = await queueDeployment(installation, token);
    const stream = await openEventStream(`${installation.baseUrl}/api/deployments/${deployment}/stream`, {
      authorization: `Bearer ${token}`,
    });
    const events: StreamEvent[] = [];
    const ended = (async () => {
      for await (const event of stream) events.push(event);
    })();
    await until("the stream begins", () => events.some(({ event }) => event === "update"));
    const startedAt = performance.now();
    expect(await quayside.stop()).toBe(0);
    // A stream that was torn off in the middle would reject.
    await ended;
    expect(performance.now() - startedAt).toBeLessThan(5_000);
  },
  TIMEOUT_MS,
);

test(
  "a second process on the same port ends with 1 and says what to do",
  async () => {
    const installation = await install();
    await installation.start("api");
    const second = await installation.start("api").then(
      () => "it started",
      (error: Error) => error.message,
    );
    const { port } = new URL(installation.baseUrl);
    expect(second).toMatch(/ended with 1/);
    expect(second).toContain(`Port ${port} on 127.0.0.1 is in use by another program; set PORT to a free one.`);
    expect((await installation.call("GET", "/livez")).status).toBe(200);
  },
  TIMEOUT_MS,
);

test(
  "an invalid environment ends the process with 1 and one message with every fault",
  async () => {
    const { code, stderr } = await run("all", {
      NODE_ENV: "production",
      PORT: "many",
      LOG_LEVEL: "loud",
      BOOTSTRAP_ADMIN_USER: "root",
    });
    expect(code).toBe(1);
    for (const name of [
      "PORT:",
      "LOG_LEVEL:",
      "BOOTSTRAP_ADMIN_PASSWORD: missing",
      "JWT_SECRET: required",
      "DATABASE_URL: required",
    ]) {
      expect(stderr).toContain(name);
    }
    expect(stderr).not.toMatch(/\n\s+at /);
  },
  TIMEOUT_MS,
);

test(
  "an unknown role ends the process with 1 and names the roles",
  async () => {
    expect(await run("captain", {})).toEqual({ code: 1, stderr: "Unknown role 'captain': use all, api or worker.\n" });
  },
  TIMEOUT_MS,
);

test(
  "a database that cannot be reached ends the process with 1 and one sentence",
  async () => {
    const { code, stderr } = await run("api", {
      DATABASE_URL: "postgres://127.0.0.1:9/none",
      DATA_DIR: "/tmp/quayside-never",
      PORT: "0",
    });
    expect(code).toBe(1);
    expect(stderr).toMatch(/^Quayside could not start: .+/);
    expect(stderr).not.toMatch(/\n\s+at /);
  },
  TIMEOUT_MS,
);

test(
  "a second boot leaves the bootstrap admin untouched and warns while the password is still set",
  async () => {
    const installation = await install();
    await (await installation.start("api")).stop();
    const again = await installation.start("api", { BOOTSTRAP_ADMIN_PASSWORD: "another password" });
    expect(again.output()).toContain("the bootstrap admin is already there and was left untouched");
    expect(await installation.signIn()).toMatch(/^qss_/);
  },
  TIMEOUT_MS,
);

test(
  "after kill -9 a restart loses nothing: rows are there, and queued jobs run",
  async () => {
    const installation = await install();
    const api = await installation.start("api");
    const token = await installation.signIn();
    const deployment = await queueDeployment(installation, token);
    await api.crash();
    await installation.start("all");
    // Nothing answers at the repository, so the job that ran is seen by its failure.
    const done = await until(
      "the queued deployment was taken up",
      async () => {
        const { body } = await installation.call("GET", `/api/deployments/${deployment}`, { token });
        return body.status === "failed" ? body : null;
      },
      40_000,
    );
    expect(done.error).toBeTruthy();
  },
  TIMEOUT_MS,
);

test(
  "a job that a worker held when it was killed runs again within seconds",
  async () => {
    const installation = await install({ APPS_PORT: "0" });
    const sql = database(installation);
    const doomed = await installation.start("worker");
    // The job waits for this lock, and with it the worker.
    const holder = await sql.reserve();
    onTestFinished(() => holder.release());
    await holder`BEGIN`;
    await holder`LOCK TABLE sessions IN ACCESS EXCLUSIVE MODE`;
    await sql`SELECT graphile_worker.add_job('platform.prune_expired', payload := '{}'::json, job_key := 'held')`;
    const jobs = () => sql<{ locked_by: string | null }[]>`
    SELECT locked_by FROM graphile_worker._private_jobs WHERE key = 'held'`;
    const [held] = await until("the worker holds the job", async () => {
      const rows = await jobs();
      return rows[0]?.locked_by ? rows : null;
    });
    await doomed.crash();
    await holder`ROLLBACK`;
    expect(await jobs()).toEqual([held]);
    await installation.start("worker");
    await until("the job has run", async () => (await jobs()).length === 0, 10_000);
  },
  TIMEOUT_MS,
);
