import { EventEmitter } from "node:events";
import { type JobName, type JobPayload, jobPayloads } from "@quayside/contracts";
import { type Log, withoutBoundValues } from "@quayside/core";
import {
  type CronItem,
  Logger,
  parseCronItems,
  type Runner,
  run,
  type TaskList,
  type WorkerEvents,
} from "graphile-worker";
import pg from "pg";
import type { ProcessRegistry } from "./process-registry.ts";

/** A job gets this long to finish when the process stops; then its signal aborts, and it is given back. */
const GRACE_MS = 15_000;
const SPARE_CONNECTIONS = 3;
const RESTART_DELAY_MS = 2_000;

interface JobRun {
  /** 1 for the first try. */
  attempt: number;
  /** Aborts when the process stops and the grace period is over. */
  stopping: AbortSignal;
}

type Handler<N extends JobName> = (payload: JobPayload<N>, run: JobRun) => Promise<void>;
export type Handlers = { [N in JobName]?: Handler<N> };

export interface WorkerPoolOptions {
  name: string;
  connectionString: string;
  concurrency: number;
  handlers: Handlers;
  cron?: readonly CronItem[];
  /** Jobs that must end at once when the process stops get 0. */
  graceMs?: number;
  /** Database connections; as many as jobs at once, and some more, when unset. */
  connections?: number;
  registry: ProcessRegistry;
  log: Log;
  onJobDone(name: string, outcome: "completed" | "failed", durationMs: number): void;
}

export interface WorkerPool {
  /** Lets running jobs finish, within the grace period. */
  stop(): Promise<void>;
}

/** Runs jobs. Each handler parses its payload and calls core, nothing else. */
export async function startWorkerPool(options: WorkerPoolOptions): Promise<WorkerPool> {
  const { log, concurrency } = options;
  const pgPool = new pg.Pool({
    connectionString: options.connectionString,
    max: options.connections ?? concurrency + SPARE_CONNECTIONS,
    application_name: `quayside-${options.name}`,
  });
  // Without listeners a connection that breaks would end the process.
  pgPool.on("error", (error) => log.warn({ err: error }, "a worker's database connection broke"));
  pgPool.on("connect", (client) => client.on("error", () => {}));
  const events = new EventEmitter() as WorkerEvents;
  const registered = Promise.withResolvers<void>();
  events.on("pool:create", ({ workerPool }) => {
    options.registry.addPool((workerPool as unknown as { id: string }).id).then(registered.resolve, registered.reject);
  });
  const start = (): Promise<Runner> =>
    run({
      pgPool,
      taskList: taskListOf(options),
      parsedCronItems: parseCronItems([...(options.cron ?? [])]),
      noHandleSignals: true,
      logger: quietLogger(log),
      events,
      preset: {
        worker: {
          concurrentJobs: concurrency,
          // Without these a job that finishes while the process stops stays locked and runs again four hours later.
          completeJobBatchDelay: 0,
          failJobBatchDelay: 0,
          gracefulShutdownAbortTimeout: options.graceMs ?? GRACE_MS,
        },
      },
    });
  let stopping = false;
  let runner = await start();
  // A pool gives up when the database is away for long; then another one takes its place.
  const keepRunning = async () => {
    while (!stopping) {
      await runner.promise.catch((error: unknown) =>
        log.warn({ err: error }, "a worker pool gave up; starting another"),
      );
      if (stopping) return;
      await new Promise((resolve) => setTimeout(resolve, RESTART_DELAY_MS));
      runner = await start().catch(() => runner);
    }
  };
  void keepRunning();
  await registered.promise;
  return {
    async stop() {
      stopping = true;
      await runner.stop().catch((error: unknown) => log.warn({ err: error }, "a worker pool did not stop cleanly"));
      await pgPool.end().catch(() => {});
    },
  };
}

function taskListOf(options: WorkerPoolOptions): TaskList {
  const tasks: TaskList = {};
  for (const [name, handler] of Object.entries(options.handlers)) {
    const jobName = name as JobName;
    tasks[jobName] = async (payload, helpers) => {
      const startedAt = performance.now();
      try {
        const stopping = helpers.abortSignal ?? new AbortController().signal;
        const run = { attempt: helpers.job.attempts, stopping };
        await (handler as Handler<JobName>)(jobPayloads[jobName].parse(payload) as JobPayload<JobName>, run);
        options.onJobDone(jobName, "completed", performance.now() - startedAt);
      } catch (error) {
        options.onJobDone(jobName, "failed", performance.now() - startedAt);
        options.log.error(
          { err: error, job: jobName, attempt: helpers.job.attempts },
          "a job failed; it is tried again",
        );
        // Graphile Worker keeps the message in its table and prints it.
        throw new Error(withoutBoundValues(error instanceof Error ? error.message : String(error)));
      }
    };
  }
  return tasks;
}

function quietLogger(log: Log): Logger {
  return new Logger(() => (level, message) => {
    if (level === "error") log.error({}, message);
    else if (level === "warning") log.warn({}, message);
    else log.debug({}, message);
  });
}
