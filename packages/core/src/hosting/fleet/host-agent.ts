import type { LogCapture, ProcessState, RouteTarget, RunningProcess } from "@quayside/contracts";
import { type ReleaseRow, releases, withTransaction } from "@quayside/db";
import { and, eq, inArray } from "drizzle-orm";
import type { HostContext } from "../../platform/context.ts";
import { storeLogLines } from "../deployments/store-log-lines.ts";
import { LOCAL_HOST_CHANNEL } from "./channels.ts";
import { CrashAlert } from "./crash-alert.ts";
import { pruneReleases } from "./prune-releases.ts";
import { processOf } from "./release-process.ts";

const RECONCILE_INTERVAL_MS = 5_000;
const STOP_GRACE_MS = 10_000;
const RESTART_MAX_DELAY_MS = 30_000;
/** An app that ran this long is not in a crash loop. */
const STEADY_MS = 60_000;
/** A first crash is over when it has run this long since. */
const RECOVERED_MS = 5_000;

interface Supervised {
  abort: AbortController;
  done: Promise<void>;
}

/**
 * Keeps this machine's releases as the tables say: live ones running and routed, draining ones stopped, forgotten
 * ones gone. It finds running processes again after a restart of Quayside, starts dead ones again, and stores what
 * they print. One process of the installation runs it at a time.
 */
export class HostAgent {
  readonly #ctx: HostContext;
  readonly #supervised = new Map<string, Supervised>();
  readonly #draining = new Map<string, Promise<void>>();
  readonly #captures = new Map<string, Promise<LogCapture>>();
  readonly #routes = new Map<string, RouteTarget | null>();
  #timer: NodeJS.Timeout | null = null;
  #unsubscribe: (() => void) | null = null;
  #reconciling: Promise<void> = Promise.resolve();
  #waiting = false;
  #stopped = false;

  constructor(ctx: HostContext) {
    this.#ctx = ctx;
  }

  /** Opens the proxy and brings everything into order; resolves with the proxy's port. */
  async start(): Promise<number> {
    const port = await this.#ctx.runtime.proxy.listen();
    const look = () => void this.reconcile();
    this.#unsubscribe = await this.#ctx.broker.subscribe(LOCAL_HOST_CHANNEL, { message: look, gap: look });
    await this.reconcile();
    this.#timer = setInterval(look, RECONCILE_INTERVAL_MS);
    return port;
  }

  /** `keep` leaves the apps running, to be found again; `stop` ends them, to be started again at the next start. */
  async stop(mode: "keep" | "stop"): Promise<void> {
    this.#stopped = true;
    if (this.#timer) clearInterval(this.#timer);
    this.#unsubscribe?.();
    await this.#reconciling;
    for (const { abort } of this.#supervised.values()) abort.abort();
    await Promise.allSettled([...this.#supervised.values()].map(({ done }) => done));
    await this.#ctx.runtime.proxy.close();
    if (mode === "stop") {
      const rows = await this.#unfinishedReleases();
      await Promise.all(rows.map((row) => this.#stopProcess(row)));
    }
    await Promise.allSettled([...this.#draining.values()]);
    await Promise.allSettled([...this.#captures.values()].map(async (capture) => (await capture).stop()));
  }

  /** Begins to store what a release prints, from where it was stored last. */
  capture(releaseId: string, deploymentId: string, component: string): void {
    if (this.#captures.has(releaseId)) return;
    this.#captures.set(releaseId, this.#openCapture(releaseId, deploymentId, component));
  }

  /** Stops storing what a release prints, after what is left was stored. */
  async forget(releaseId: string): Promise<void> {
    const capture = this.#captures.get(releaseId);
    this.#captures.delete(releaseId);
    await (await capture?.catch(() => null))?.stop();
  }

  /** Sends a host name's traffic to a release at once. The returned function puts things back as they were. */
  switchRoute(hostName: string, target: RouteTarget): () => void {
    const before = this.#routes.get(hostName);
    this.#setRoute(hostName, target);
    return () => this.#setRoute(hostName, before ?? null);
  }

  /** Compares the tables with what is here and mends the difference. Calls that come meanwhile share the next round. */
  reconcile(): Promise<void> {
    if (this.#waiting || this.#stopped) return this.#reconciling;
    this.#waiting = true;
    this.#reconciling = this.#reconciling.then(async () => {
      this.#waiting = false;
      if (this.#stopped) return;
      try {
        await this.#reconcileOnce();
      } catch (error) {
        this.#ctx.log.warn({ err: error }, "releases could not be reconciled; it is tried again");
      }
    });
    return this.#reconciling;
  }

  async #reconcileOnce(): Promise<void> {
    const rows = await this.#unfinishedReleases();
    for (const row of rows) {
      if (row.state === "live" && !this.#supervised.has(row.id)) this.#supervise(row);
      if (row.state === "draining" && !this.#draining.has(row.id)) this.#drain(row);
      if (row.state === "starting") await this.#discardIfAbandoned(row);
    }
    await this.#reconcileRoutes(rows);
    await pruneReleases(this.#ctx);
  }

  async #unfinishedReleases(): Promise<ReleaseRow[]> {
    const { db } = this.#ctx;
    return db.orm
      .select()
      .from(releases)
      .where(inArray(releases.state, ["starting", "live", "draining"]));
  }

  /** Host names as the tables have them; what is not there any more gets the 404 page. */
  async #reconcileRoutes(rows: ReleaseRow[]): Promise<void> {
    const domains = await this.#ctx.db.sql<{ hostName: string; releaseId: string | null }[]>`
      SELECT d.host_name AS "hostName", r.id AS "releaseId" FROM app_domains d
      LEFT JOIN releases r ON r.app_id = d.app_id AND r.component = d.component AND r.state = 'live'`;
    const starting = new Set(rows.filter((row) => row.state === "starting").map((row) => row.id));
    const present = new Set<string>();
    for (const { hostName, releaseId } of domains) {
      present.add(hostName);
      const route = this.#routes.get(hostName);
      // A live release's route is set by its supervisor once it answers, and that of a release which is just being
      // switched to is not in the tables yet.
      const settled = route !== undefined && (releaseId !== null || starting.has(route?.releaseId ?? ""));
      if (!settled) this.#setRoute(hostName, null);
    }
    for (const hostName of this.#routes.keys()) {
      if (present.has(hostName)) continue;
      this.#routes.delete(hostName);
      this.#ctx.runtime.proxy.removeRoute(hostName);
    }
  }

  #setRoute(hostName: string, target: RouteTarget | null): void {
    this.#routes.set(hostName, target);
    this.#ctx.runtime.proxy.setRoute(hostName, target);
  }

  async #routeRelease(row: ReleaseRow, target: RouteTarget | null): Promise<void> {
    const domains = await this.#ctx.db.sql<{ hostName: string }[]>`
      SELECT host_name AS "hostName" FROM app_domains WHERE app_id = ${row.appId} AND component = ${row.component}
        AND EXISTS (SELECT 1 FROM releases WHERE id = ${row.id} AND state = 'live')`;
    for (const { hostName } of domains) this.#setRoute(hostName, target);
  }

  #supervise(row: ReleaseRow): void {
    const abort = new AbortController();
    const alert = new CrashAlert(this.#ctx, row, { recoveredMs: RECOVERED_MS, steadyMs: STEADY_MS });
    const before = this.#timer === null ? alert.takeUp() : Promise.resolve();
    const done = before
      .then(() => this.#keepRunning(row, alert, abort.signal))
      .catch((error: unknown) => {
        if (!abort.signal.aborted)
          this.#ctx.log.error({ err: error, releaseId: row.id }, "supervision of a release failed");
      })
      .finally(() => alert.end(this.#stopped))
      .finally(() => this.#supervised.delete(row.id));
    this.#supervised.set(row.id, { abort, done });
  }

  /** Runs until the release is no longer live here: adopt or start, route, wait for its end, start again. */
  async #keepRunning(row: ReleaseRow, alert: CrashAlert, signal: AbortSignal): Promise<void> {
    const { runtime } = this.#ctx;
    this.capture(row.id, row.deploymentId, row.component);
    let process = processOf(row);
    const state = process && (await runtime.processState(row.id, process));
    if (state && !state.running) {
      await this.#sayHowItEnded(row, state);
      process = null;
    }
    let failures = 0;
    while (!signal.aborted) {
      const startedAt = performance.now();
      let how = "The app could not be started again; it is tried further.";
      process ??= await this.#startAgain(row, signal);
      if (process) {
        await this.#routeRelease(row, { releaseId: row.id, port: process.port });
        alert.healthy();
        const end = await runtime.waitForExit(row.id, process, signal);
        if (signal.aborted || end.running) return;
        await this.#routeRelease(row, null);
        how = await this.#sayHowItEnded(row, end);
      }
      process = null;
      const ranMs = performance.now() - startedAt;
      failures = ranMs > STEADY_MS ? 0 : failures + 1;
      if (signal.aborted || !(await this.#isLive(row.id))) return;
      await alert.crashed(ranMs, how);
      await pause(Math.min(RESTART_MAX_DELAY_MS, 250 * 2 ** Math.min(failures, 10)), signal);
    }
  }

  async #sayHowItEnded(row: ReleaseRow, end: Extract<ProcessState, { running: false }>): Promise<string> {
    const how = end.signal ? `by ${end.signal}` : `with code ${end.exitCode ?? "unknown"}`;
    const line = `The app ended ${how}; it is started again.`;
    await this.#say(row, line);
    return line;
  }

  /** Null when it could not be started or was not healthy; the reason is in its log. */
  async #startAgain(row: ReleaseRow, signal: AbortSignal): Promise<RunningProcess | null> {
    const { runtime, db } = this.#ctx;
    const step = { signal, log: (line: { line: string }) => void this.#say(row, line.line) };
    let process: RunningProcess | null = null;
    try {
      await runtime.stopStrays(row.id);
      const request = { directory: runtime.releaseDirectory(row.id), settings: row.settings, env: row.env };
      process = await runtime.startRelease(
        { ...request, sandboxed: row.sandboxed, releaseId: row.id, command: row.command },
        step,
      );
      await db.orm
        .update(releases)
        .set({ ...process, restarts: row.restarts + 1 })
        .where(and(eq(releases.id, row.id), eq(releases.state, "live")));
      row.restarts += 1;
      await runtime.waitUntilHealthy(row.id, process, row.health, step);
      return process;
    } catch (error) {
      if (process) await runtime.stopRelease(process, STOP_GRACE_MS);
      if (!signal.aborted) await this.#say(row, `Starting again failed: ${messageOf(error)}`);
      return null;
    }
  }

  #drain(row: ReleaseRow): void {
    const { runtime, db, config, clock, log } = this.#ctx;
    const work = async () => {
      const supervised = this.#supervised.get(row.id);
      const drained = await runtime.proxy.drain(row.id, this.#stopped ? 0 : config.DRAIN_TIMEOUT_MS);
      if (!drained) await this.#say(row, "Some requests were still open after the drain time-out; they are cut.");
      supervised?.abort.abort();
      await supervised?.done;
      await this.#stopProcess(row);
      await this.forget(row.id);
      await db.orm
        .update(releases)
        .set({ state: "stopped", pid: null, port: null, startToken: null, stoppedAt: clock.now() })
        .where(and(eq(releases.id, row.id), eq(releases.state, "draining")));
    };
    const done = work()
      .catch((error: unknown) => log.warn({ err: error, releaseId: row.id }, "a release could not be drained"))
      .finally(() => {
        this.#draining.delete(row.id);
        // What is stopped may be pruned.
        void this.reconcile();
      });
    this.#draining.set(row.id, done);
  }

  async #stopProcess(row: ReleaseRow): Promise<void> {
    const [fresh] = await this.#ctx.db.orm.select().from(releases).where(eq(releases.id, row.id));
    const process = processOf(fresh);
    if (process) await this.#ctx.runtime.stopRelease(process, STOP_GRACE_MS);
    // A child that left its process group still carries the release's mark.
    await this.#ctx.runtime.stopStrays(row.id);
  }

  /** A release that was being started when its worker died, and whose deployment ended since. */
  async #discardIfAbandoned(row: ReleaseRow): Promise<void> {
    const { runtime, db, clock } = this.#ctx;
    const [abandoned] = await db.sql`
      SELECT 1 FROM deployments WHERE id = ${row.deploymentId} AND phase NOT IN ('queued', 'building', 'deploying')`;
    if (!abandoned) return;
    await this.#stopProcess(row);
    await runtime.stopStrays(row.id);
    await this.forget(row.id);
    await runtime.removeRelease(row.id);
    await db.orm
      .update(releases)
      .set({ state: "removed", pid: null, stoppedAt: clock.now() })
      .where(and(eq(releases.id, row.id), eq(releases.state, "starting")));
  }

  async #isLive(releaseId: string): Promise<boolean> {
    const [row] = await this.#ctx.db.sql`SELECT 1 FROM releases WHERE id = ${releaseId} AND state = 'live'`;
    return row !== undefined;
  }

  async #openCapture(releaseId: string, deploymentId: string, component: string): Promise<LogCapture> {
    const { db, runtime } = this.#ctx;
    const [row] = await db.orm.select().from(releases).where(eq(releases.id, releaseId));
    const from = { stdout: row?.stdoutOffset ?? 0, stderr: row?.stderrOffset ?? 0 };
    return runtime.captureLogs(releaseId, from, (batch) =>
      withTransaction(db, async (tx) => {
        const { stdout, stderr } = batch.offsets;
        await tx.orm
          .update(releases)
          .set({ stdoutOffset: stdout, stderrOffset: stderr })
          .where(eq(releases.id, releaseId));
        await storeLogLines(tx, deploymentId, component, batch.lines);
      }),
    );
  }

  async #say(row: ReleaseRow, line: string): Promise<void> {
    const { db, clock, log } = this.#ctx;
    log.info({ releaseId: row.id, deploymentId: row.deploymentId }, line);
    try {
      await withTransaction(db, (tx) =>
        storeLogLines(tx, row.deploymentId, row.component, [{ at: clock.now(), stream: "system", line }]),
      );
    } catch (error) {
      log.warn({ err: error, releaseId: row.id }, "a line about a release could not be stored");
    }
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer);
      signal.removeEventListener("abort", done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    signal.addEventListener("abort", done, { once: true });
    if (signal.aborted) done();
  });
}
