import { readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { type Configuration, ConfigurationError, loadConfiguration } from "./configuration/load-configuration.ts";
import { createLog } from "./observability/log.ts";
import { type ProcessRole, type Quayside, startQuayside } from "./start-quayside.ts";

const PROJECT_ROOT = join(dirname(fileURLToPath(import.meta.url)), "../../..");
const STOP_TIMEOUT_MS = 25_000;

/** One Quayside process from start to end; exits with 0 after SIGTERM or SIGINT, with 1 when it cannot start. */
export async function runProcess(roleName: string): Promise<void> {
  if (roleName !== "all" && roleName !== "api" && roleName !== "worker") {
    process.stderr.write(`Unknown role '${roleName}': use all, api or worker.\n`);
    process.exit(1);
  }
  const role: ProcessRole = roleName;
  const startedAt = performance.now() + performance.timeOrigin;
  let configuration: Configuration;
  try {
    configuration = await loadConfiguration({ projectRoot: PROJECT_ROOT, env: process.env });
  } catch (error) {
    if (!(error instanceof ConfigurationError)) throw error;
    process.stderr.write(`${error.message}\n`);
    process.exit(1);
  }
  const { log, requestLog, flush } = createLog(configuration.config.LOG_LEVEL, process.stdout.isTTY === true);
  const { version } = JSON.parse(readFileSync(join(PROJECT_ROOT, "package.json"), "utf8")) as { version: string };
  // A signal during the start waits for its end, so that nothing half-started is left behind.
  let early: NodeJS.Signals | null = null;
  const remember = (signal: NodeJS.Signals) => {
    early = signal;
  };
  process.on("SIGTERM", remember);
  process.on("SIGINT", remember);
  let quayside: Quayside;
  try {
    quayside = await startQuayside(configuration, role, { log, requestLog }, version);
  } catch (error) {
    log.debug({ err: error }, "start failed");
    flush();
    process.stderr.write(`Quayside could not start: ${error instanceof Error ? error.message : String(error)}\n`);
    process.exit(1);
  }
  const readyMs = Math.round(Date.now() - performance.timeOrigin);
  log.info({ role, port: quayside.port, readyMs, startedAt: new Date(startedAt).toISOString() }, "ready");
  if (role !== "worker") announce(configuration, quayside, readyMs);
  process.off("SIGTERM", remember);
  process.off("SIGINT", remember);
  stopOnSignals(quayside, log, flush);
  void quayside.databaseGone.then(() => {
    log.error({}, "the embedded database has died; ending, so that the next start brings it back");
    process.exitCode = 1;
    process.kill(process.pid, "SIGTERM");
  });
  if (early) process.kill(process.pid, early);
}

function stopOnSignals(
  quayside: Quayside,
  log: { info(fields: object, message: string): void },
  flush: () => void,
): void {
  let stopping = false;
  const stop = (signal: NodeJS.Signals) => {
    if (stopping) {
      flush();
      process.exit(1);
    }
    stopping = true;
    log.info({ signal }, "stopping: finishing requests and jobs");
    const late = setTimeout(() => {
      process.stderr.write("Not everything stopped in 25 s; ending.\n");
      flush();
      process.exit(1);
    }, STOP_TIMEOUT_MS);
    void quayside.stop().then(() => {
      clearTimeout(late);
      log.info({}, "stopped");
      flush();
      process.exit();
    });
  };
  process.on("SIGTERM", stop);
  process.on("SIGINT", stop);
}

/** What a newcomer needs to know, on standard error so that the log stays pure. */
function announce({ config, secretsFile }: Configuration, quayside: Quayside, readyMs: number): void {
  const lines = [
    `Quayside is ready in ${(readyMs / 1_000).toFixed(1)} s`,
    `  API and docs   ${config.BASE_URL}/docs`,
    `  tRPC           ${config.BASE_URL}/trpc`,
    `  Deployed apps  http://<app>.${config.APPS_DOMAIN}:${config.APPS_PORT}`,
    ...(secretsFile
      ? [`  Sign in        ${config.BOOTSTRAP_ADMIN_USER}, password in ${relative(process.cwd(), secretsFile)}`]
      : []),
    ...(quayside.databaseNote ? [`  ${quayside.databaseNote}`] : []),
  ];
  process.stderr.write(`\n${lines.join("\n")}\n\n`);
}
