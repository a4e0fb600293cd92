import { randomUUID } from "node:crypto";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import type { PlatformConfig } from "@quayside/contracts";
import {
  bootstrapAdmin,
  CredentialCache,
  createSealer,
  Feeds,
  KeyUse,
  PostgresBroker,
  RateLimiter,
  randomIds,
  type Services,
  systemContext,
  WebhookPump,
  WebhookSender,
} from "@quayside/core";
import { openDatabase, watchForStuckConnections } from "@quayside/db";
import { createLocalRuntime, explainRefusedBranch, explainRefusedRepo } from "@quayside/runtime";
import { commonHandlers, ProcessRegistry, RECURRING, startWorkerPool, webhookHandlers } from "@quayside/workers";
import type { Logger } from "pino";
import type { Configuration } from "./configuration/load-configuration.ts";
import { createMetrics } from "./observability/metrics.ts";
import { openPlatformDatabase } from "./open-platform-database.ts";
import { startApiRole } from "./roles/api-role.ts";
import { HostRole } from "./roles/host-role.ts";
import { watchDatabase } from "./watch-database.ts";

export type ProcessRole = "all" | "api" | "worker";

export interface Quayside {
  /** Port of the HTTP server; null for a worker. */
  port: number | null;
  /** One sentence for the operator about where the embedded database is, when it is not where expected. */
  databaseNote: string | null;
  adminCreated: boolean;
  /** Resolves when the embedded database has died: the process must end, and its next start brings everything back. */
  databaseGone: Promise<void>;
  /** Finishes requests and jobs within 25 seconds, then lets go of everything. */
  stop(): Promise<void>;
}

/** Starts one process of an installation in the given role. What was started is stopped again when a step fails. */
export async function startQuayside(
  configuration: Configuration,
  role: ProcessRole,
  { log, requestLog }: { log: Logger; requestLog: Logger },
  version: string,
): Promise<Quayside> {
  const { config, dataDir } = configuration;
  const undo: (() => Promise<void> | void)[] = [];
  const stop = async () => {
    for (const step of undo.splice(0).reverse()) {
      await Promise.resolve(step()).catch((error: unknown) => log.warn({ err: error }, "a part did not stop cleanly"));
    }
  };
  try {
    mkdirSync(dataDir, { recursive: true, mode: 0o711 });
    const database = await openPlatformDatabase(configuration, log);
    undo.push(() => database.stop());
    const gone = Promise.withResolvers<void>();
    if (database.embeddedPort !== null) undo.push(watchDatabase(database.embeddedPort, gone.resolve));
    const services = await createServices(configuration, database.url, role, log, version, undo);
    const outcome = await bootstrapAdmin(systemContext(services, "start"), {
      user: config.BOOTSTRAP_ADMIN_USER,
      password: config.BOOTSTRAP_ADMIN_PASSWORD,
      grantSuperAdmin: config.BOOTSTRAP_GRANT_SUPER_ADMIN,
    });
    warnOfBootstrap(outcome, configuration, log);
    const metrics = createMetrics();
    // Doors and hands stop side by side: each has its own time limit, and together they must keep to 25 s.
    const serving: (() => Promise<void>)[] = [];
    undo.push(async () => void (await Promise.allSettled(serving.map((end) => end()))));
    if (role !== "api") await startWorkers({ configuration, services, url: database.url, log, metrics, undo, serving });
    let port: number | null = null;
    if (role !== "worker") {
      const api = await startApiRole(services, { log, requestLog }, metrics);
      serving.push(() => api.stop());
      port = api.port;
    }
    return { port, databaseNote: database.note, adminCreated: outcome === "created", databaseGone: gone.promise, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

async function createServices(
  { config }: Configuration,
  url: string,
  role: ProcessRole,
  log: Logger,
  version: string,
  undo: (() => Promise<void> | void)[],
): Promise<Services> {
  const db = openDatabase(url, { poolSize: config.DATABASE_POOL_SIZE, applicationName: `quayside-${role}` });
  undo.push(() => db.close());
  undo.push(
    watchForStuckConnections(db, (count) =>
      log.error({ count }, "database connections hung in mid-statement and were ended"),
    ),
  );
  const clock = { now: () => new Date() };
  const broker = await PostgresBroker.open(url, log);
  undo.push(() => broker.close());
  const limiter = new RateLimiter(db, clock, log);
  undo.push(() => limiter.close());
  const keyUse = new KeyUse(db, clock, log);
  undo.push(() => keyUse.close());
  const credentials = await CredentialCache.open(broker);
  undo.push(() => credentials.close());
  return {
    db,
    config,
    version,
    clock,
    ids: randomIds,
    log,
    broker,
    feeds: new Feeds(broker),
    limiter,
    credentials,
    keyUse,
    sealer: createSealer([Buffer.from(config.ENCRYPTION_KEY, "base64")]),
    explainRefusedRepo: (repo) => explainRefusedRepo(repo, gitLocalRoots(config)),
    explainRefusedBranch,
  };
}

/** Null: any path, as in development. */
function gitLocalRoots(config: PlatformConfig): string[] | null {
  return config.GIT_LOCAL_ROOTS ?? (config.NODE_ENV === "production" ? [] : null);
}

interface WorkerParts {
  configuration: Configuration;
  services: Services;
  url: string;
  log: Logger;
  metrics: ReturnType<typeof createMetrics>;
  undo: (() => Promise<void> | void)[];
  serving: (() => Promise<void>)[];
}

async function startWorkers({ configuration, services, url, log, metrics, undo, serving }: WorkerParts): Promise<void> {
  const { config, dataDir } = configuration;
  const registry = await ProcessRegistry.open(url, randomUUID(), log);
  // Leaves after the pools: while it is registered its jobs are its own.
  undo.splice(-1, 0, () => registry.close());
  const pool = await startWorkerPool({
    name: "worker",
    connectionString: url,
    concurrency: config.WORKER_CONCURRENCY,
    handlers: commonHandlers(systemContext(services, "job")),
    cron: RECURRING,
    registry,
    log,
    onJobDone: (name, outcome, durationMs) => metrics.jobDone(name, outcome, durationMs / 1_000),
  });
  serving.push(() => pool.stop());
  if (config.PLATFORM_AREAS.some((area) => area === "webhooks" || area === "crm")) {
    await startWebhooks({ configuration, services, url, log, metrics, undo, serving }, registry);
  }
  if (!config.PLATFORM_AREAS.includes("hosting")) return;
  const host = new HostRole({
    services,
    createRuntime: () =>
      createLocalRuntime({
        dataDir: join(dataDir, "hosting"),
        proxyHost: config.APPS_HOST,
        proxyPort: config.APPS_PORT,
        gitLocalRoots: gitLocalRoots(config),
        allowPrivateNetworks: config.GIT_ALLOW_PRIVATE_NETWORKS ?? config.NODE_ENV !== "production",
        buildTimeoutMs: config.BUILD_TIMEOUT_MS,
        onWarning: (message) => log.warn({}, message),
      }),
    connectionString: url,
    registry,
    log,
    metrics,
  });
  serving.push(() => host.stop());
  await host.start();
}

const WEBHOOK_GRACE_MS = 16_000;

/** The part of a worker that sends webhooks: a queue of its own, and the pump that its jobs wake. */
async function startWebhooks(parts: WorkerParts, registry: ProcessRegistry): Promise<void> {
  const { configuration, services, url, log, metrics, serving } = parts;
  const { config } = configuration;
  const production = config.NODE_ENV === "production";
  const sender = new WebhookSender({
    allowPrivateNetworks: config.WEBHOOK_ALLOW_PRIVATE_NETWORKS ?? !production,
    requireHttps: !(config.WEBHOOK_ALLOW_HTTP ?? !production),
    timeoutMs: config.WEBHOOK_TIMEOUT_MS,
  });
  const pump = new WebhookPump(systemContext(services, "webhooks"), { sender });
  const pool = await startWorkerPool({
    name: "webhooks",
    connectionString: url,
    concurrency: 4,
    handlers: webhookHandlers(pump),
    registry,
    log,
    onJobDone: (name, outcome, durationMs) => metrics.jobDone(name, outcome, durationMs / 1_000),
  });
  serving.push(async () => {
    await pool.stop();
    await pump.stop(WEBHOOK_GRACE_MS);
    await sender.close();
  });
}

function warnOfBootstrap(outcome: string, configuration: Configuration, log: Logger): void {
  if (outcome === "present" && configuration.bootstrapPasswordSet) {
    log.warn(
      {},
      "the bootstrap admin is already there and was left untouched; remove BOOTSTRAP_ADMIN_PASSWORD from the environment",
    );
  }
  if (outcome === "not-granted") {
    log.warn({}, "BOOTSTRAP_ADMIN_USER was not created: BOOTSTRAP_GRANT_SUPER_ADMIN is not 'true'");
  }
  if (configuration.sessionSecretGenerated && configuration.config.NODE_ENV === "production") {
    log.warn({}, "SESSION_SECRET is not set: sessions end at every restart and do not hold across API processes");
  }
}
