import type { Runtime } from "@quayside/contracts";
import { HostAgent, type HostContext, type Services, systemContext } from "@quayside/core";
import { hostHandlers, type ProcessRegistry, startWorkerPool, type WorkerPool } from "@quayside/workers";
import pg from "pg";
import type { Logger } from "pino";
import type { Metrics } from "../observability/metrics.ts";

const RETRY_MS = 2_000;
const DEPLOYMENTS_AT_ONCE = 2;
const LOCK_NAME = "quayside host local";

export interface HostRoleOptions {
  services: Services;
  createRuntime(): Runtime;
  connectionString: string;
  registry: ProcessRegistry;
  log: Logger;
  metrics: Metrics;
}

interface Held {
  agent: HostAgent;
  pool: WorkerPool;
  client: pg.Client;
}

/**
 * Owns this machine's releases: proxy, supervision, log capture and deployment jobs. Only one process of an
 * installation does; the others wait for its lock, which is free the moment that it dies.
 */
export class HostRole {
  readonly #options: HostRoleOptions;
  #held: Held | null = null;
  #timer: NodeJS.Timeout | null = null;
  #stopping = false;
  #work: Promise<void> = Promise.resolve();

  constructor(options: HostRoleOptions) {
    this.#options = options;
  }

  /** Takes the role when it is free. Throws when it is free but cannot be played, as when the proxy's port is taken. */
  async start(): Promise<boolean> {
    const taken = await this.#take();
    if (!taken) {
      this.#options.log.info({}, "another process owns the releases of this machine; waiting to take over");
      this.#waitAndTake();
    }
    return taken;
  }

  async stop(): Promise<void> {
    this.#stopping = true;
    if (this.#timer) clearTimeout(this.#timer);
    await this.#work.catch(() => {});
    await this.#release(this.#options.services.config.APPS_ON_STOP ?? this.#defaultMode());
  }

  #defaultMode(): "keep" | "stop" {
    return this.#options.services.config.NODE_ENV === "production" ? "keep" : "stop";
  }

  #waitAndTake(): void {
    if (this.#stopping) return;
    this.#timer = setTimeout(() => {
      this.#work = this.#take().then(
        (taken) => {
          if (!taken) this.#waitAndTake();
        },
        (error: unknown) => {
          this.#options.log.error({ err: error }, "the releases of this machine could not be taken over; trying again");
          this.#waitAndTake();
        },
      );
    }, RETRY_MS);
  }

  /** A connection that holds the role's lock, or null when another process has it. */
  async #lock(): Promise<pg.Client | null> {
    const client = new pg.Client({
      connectionString: this.#options.connectionString,
      application_name: "quayside-host",
      keepAlive: true,
    });
    client.on("error", () => {});
    try {
      await client.connect();
    } catch (error) {
      await client.end().catch(() => {});
      throw error;
    }
    const { rows } = await client.query<{ free: boolean }>("SELECT pg_try_advisory_lock(hashtext($1)) AS free", [
      LOCK_NAME,
    ]);
    if (rows[0]?.free && !this.#stopping) return client;
    await client.end();
    return null;
  }

  async #take(): Promise<boolean> {
    const client = await this.#lock();
    if (!client) return false;
    try {
      await this.#play(client);
    } catch (error) {
      await client.end().catch(() => {});
      throw error;
    }
    client.on("end", () => this.#lost());
    return true;
  }

  async #play(client: pg.Client): Promise<void> {
    const { services, log, metrics, registry, connectionString } = this.#options;
    const ctx: HostContext = { ...systemContext(services, "host-agent"), runtime: this.#options.createRuntime() };
    const agent = new HostAgent(ctx);
    const port = await agent.start();
    const pool = await startWorkerPool({
      name: "host-worker",
      connectionString,
      concurrency: DEPLOYMENTS_AT_ONCE,
      handlers: hostHandlers(ctx, agent),
      // A deployment that is cut short is given back and done over by whoever comes next.
      graceMs: 0,
      registry,
      log,
      onJobDone: (name, outcome, durationMs) => metrics.jobDone(name, outcome, durationMs / 1_000),
    });
    this.#held = { agent, pool, client };
    log.info({ appsPort: port }, "this process owns the releases of this machine");
  }

  /** The lock went with its connection: another process may own the releases now, so this one lets go. */
  #lost(): void {
    if (this.#stopping || !this.#held) return;
    this.#options.log.warn({}, "the connection that holds the releases of this machine was lost");
    this.#work = this.#takeAgain();
  }

  /**
   * The apps keep serving while the database is away: what runs is left alone until it is known who owns it. Only when
   * another process took the role meanwhile does this one let go.
   */
  async #takeAgain(): Promise<void> {
    while (!this.#stopping && this.#held) {
      try {
        const client = await this.#lock();
        if (!client) break;
        this.#held.client = client;
        client.on("end", () => this.#lost());
        this.#options.log.info({}, "this process still owns the releases of this machine");
        return;
      } catch {
        await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
      }
    }
    if (this.#stopping) return;
    await this.#release("keep");
    this.#waitAndTake();
  }

  async #release(mode: "keep" | "stop"): Promise<void> {
    const held = this.#held;
    this.#held = null;
    if (!held) return;
    await held.pool.stop();
    await held.agent.stop(mode);
    await held.client.end().catch(() => {});
  }
}
