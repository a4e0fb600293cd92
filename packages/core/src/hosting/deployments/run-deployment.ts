import {
  type BuildSettings,
  type HealthSettings,
  type LogLine,
  type RunningProcess,
  type StepContext,
  StepFailure,
} from "@quayside/contracts";
import { organizations, projects, releases } from "@quayside/db";
import { and, eq, inArray, ne } from "drizzle-orm";
import { requireSystem } from "../../platform/authorize.ts";
import type { HostContext } from "../../platform/context.ts";
import { LOCAL_HOST_CHANNEL } from "../fleet/channels.ts";
import type { HostAgent } from "../fleet/host-agent.ts";
import { processOf } from "../fleet/release-process.ts";
import { appUrl } from "../projects/app-url.ts";
import { fetchableRepo } from "../projects/repo-credentials.ts";
import { advanceDeployment, FenceLost } from "./advance-deployment.ts";
import { claimDeployment } from "./claim-deployment.ts";
import type { DeploymentRow } from "./deployment-record.ts";
import { findHostName } from "./find-deployment.ts";
import { LogWriter } from "./log-writer.ts";

const COMPONENT = "web";
/** Unexpected errors are tried again this often; what the owner can act on ends a deployment at once. */
const MAX_TRIES = 5;

class Cancelled extends Error {}

/** One deployment under way: its claim, its log and how to stop it. */
interface Run {
  ctx: HostContext;
  agent: HostAgent;
  claim: DeploymentRow;
  writer: LogWriter;
  step: StepContext;
  attempt: number;
}

/**
 * Deploys a queued commit: fetch, build, freeze, start beside the old release, gate on health, switch, and leave the
 * old one to drain. Safe to run again after a crash at any point: outside names come from the deployment's id, and
 * what an earlier try left is cleared first. A failure that the owner can act on ends the deployment; anything else is
 * thrown, and the job is tried again.
 */
export async function runDeployment(
  ctx: HostContext,
  agent: HostAgent,
  input: { deploymentId: string },
  job: { attempt: number; stopping: AbortSignal },
): Promise<void> {
  requireSystem(ctx);
  const { stopping } = job;
  const claim = await claimDeployment(ctx, input.deploymentId);
  if (!claim) return;
  const cancel = new AbortController();
  const unsubscribe = await watchCancellation(ctx, claim.id, cancel);
  const writer = new LogWriter(ctx, claim.id, COMPONENT);
  const step: StepContext = {
    signal: AbortSignal.any([stopping, cancel.signal]),
    log: (line) => writer.append(line),
  };
  const run: Run = { ctx, agent, claim, writer, step, attempt: job.attempt };
  try {
    await clearEarlierTry(run);
    await deploy(run);
  } catch (error) {
    await endBadly(run, error, stopping);
  } finally {
    unsubscribe();
    await writer.flush();
  }
}

async function deploy(run: Run): Promise<void> {
  const { ctx, claim, step, agent } = run;
  const plan = await planRelease(run);
  const directory = ctx.runtime.releaseDirectory(claim.id);
  const { commitSha } = await ctx.runtime.fetchCommit(
    { projectId: claim.projectId, repo: plan.repo, branch: claim.branch, commitSha: claim.commitSha, directory },
    step,
  );
  const request = { directory, settings: plan.settings, env: plan.env, sandboxed: plan.sandboxed };
  const { command } = await ctx.runtime.buildRelease(request, step);
  await run.writer.flush();

  await advanceDeployment(ctx, claim, {
    phase: "deploying",
    message: `Built ${commitSha.slice(0, 12)}. Starting the new release beside the old one.`,
    alongside: async (tx) => {
      await tx.orm.insert(releases).values({
        id: claim.id,
        organizationId: claim.organizationId,
        appId: claim.appId,
        deploymentId: claim.id,
        component: COMPONENT,
        command,
        settings: plan.settings,
        env: plan.env,
        health: plan.health,
        sandboxed: plan.sandboxed,
        state: "starting",
        createdAt: ctx.clock.now(),
      });
    },
  });
  const process = await ctx.runtime.startRelease({ ...request, releaseId: claim.id, command }, step);
  await ctx.db.orm.update(releases).set(process).where(eq(releases.id, claim.id));
  agent.capture(claim.id, claim.id, COMPONENT);
  say(run, `Started as process ${process.pid} on port ${process.port}; waiting for its health check`);
  await ctx.runtime.waitUntilHealthy(claim.id, process, plan.health, step);
  await switchTraffic(run, process);
}

/** New release live, old one draining, deployment deployed and traffic switched: all of it or nothing. */
async function switchTraffic(run: Run, process: RunningProcess): Promise<void> {
  const { ctx, claim, agent, step } = run;
  step.signal.throwIfAborted();
  const hostName = await findHostName(ctx.db, claim.appId);
  const url = hostName ? appUrl(hostName, ctx.config) : null;
  let restore = () => {};
  try {
    await advanceDeployment(ctx, claim, {
      phase: "deployed",
      message: url ? `Live at ${url}.` : "Live.",
      alongside: async (tx, row) => {
        if (row.cancelRequestedAt) throw new Cancelled();
        const others = and(eq(releases.appId, claim.appId), ne(releases.id, claim.id), eq(releases.state, "live"));
        await tx.orm.update(releases).set({ state: "draining" }).where(others);
        await tx.orm.update(releases).set({ state: "live", liveAt: ctx.clock.now() }).where(eq(releases.id, claim.id));
        await tx.sql`SELECT pg_notify(${LOCAL_HOST_CHANNEL}, '')`;
        // Traffic moves before the commit, so that whoever reads "deployed" already reaches the new release.
        if (hostName) restore = agent.switchRoute(hostName, { releaseId: claim.id, port: process.port });
      },
    });
  } catch (error) {
    restore();
    throw error;
  }
}

interface Plan {
  repo: string;
  settings: BuildSettings;
  env: Record<string, string>;
  health: HealthSettings;
  sandboxed: boolean;
}

/** What the new release is made from, frozen at this moment. */
async function planRelease(run: Run): Promise<Plan> {
  const { ctx, claim } = run;
  const [row] = await ctx.db.orm
    .select({
      repo: projects.repo,
      repoCredentials: projects.repoCredentials,
      buildConfig: projects.buildConfig,
      trusted: organizations.trusted,
    })
    .from(projects)
    .innerJoin(organizations, eq(organizations.id, projects.organizationId))
    .where(eq(projects.id, claim.projectId));
  const repo = row ? fetchableRepo(ctx, claim.projectId, row) : null;
  if (!row || !repo) throw new StepFailure("fetch", "The project no longer has a repository.");
  if (!row.trusted && ctx.config.GIT_LOCAL_ROOTS === undefined && isLocalPath(repo)) {
    throw new StepFailure(
      "fetch",
      "Repositories by path are for trusted organizations, or below a folder that the operator lists in GIT_LOCAL_ROOTS.",
    );
  }
  const sandboxed = !row.trusted;
  if (sandboxed && !(await ctx.runtime.canSandbox())) {
    throw new StepFailure(
      "start",
      "This organization is not trusted to run on the host 'local' without a sandbox, and no sandbox is available here: " +
        `install bubblewrap (bwrap), or let a super admin POST /api/v1/admin/organizations/${claim.organizationId}/trust.`,
    );
  }
  const config = claim.resolvedBuildConfig ?? row.buildConfig;
  return {
    repo,
    settings: { root: config.root, build: config.build, start: config.start },
    env: config.env ?? {},
    health: { path: config.healthcheck ?? null, timeoutMs: config.healthTimeoutMs ?? ctx.config.HEALTH_TIMEOUT_MS },
    sandboxed,
  };
}

function isLocalPath(repo: string): boolean {
  return repo.startsWith("/") || /^file:/i.test(repo);
}

/** What a worker that died left behind: a process, files, a release that never went live. */
async function clearEarlierTry(run: Run): Promise<void> {
  const { ctx, claim, agent } = run;
  await ctx.runtime.stopStrays(claim.id);
  await agent.forget(claim.id);
  await ctx.runtime.removeRelease(claim.id);
  await ctx.db.orm
    .delete(releases)
    .where(and(eq(releases.id, claim.id), inArray(releases.state, ["starting", "removed"])));
}

async function endBadly(run: Run, error: unknown, stopping: AbortSignal): Promise<void> {
  const { ctx, claim } = run;
  if (error instanceof FenceLost) {
    ctx.log.warn({ deploymentId: claim.id }, error.message);
    return;
  }
  await discardRelease(run);
  // The platform stops: the job is given back and another worker starts over.
  if (stopping.aborted) throw error;
  const [row] = await ctx.db.sql`SELECT cancel_requested_at FROM deployments WHERE id = ${claim.id}`;
  const cancelled = error instanceof Cancelled || (run.step.signal.aborted && row?.cancel_requested_at != null);
  if (cancelled) {
    await advanceDeployment(ctx, claim, { phase: "cancelled", message: "Cancelled. What ran before still serves." });
  } else if (error instanceof StepFailure) {
    say(run, `Failed: ${error.message}`);
    await run.writer.flush();
    await advanceDeployment(ctx, claim, { phase: "failed", message: error.message, error: error.message });
  } else if (run.attempt >= MAX_TRIES) {
    ctx.log.error({ err: error, deploymentId: claim.id }, "a deployment failed unexpectedly too often");
    const message = `Something went wrong on Quayside's side ${MAX_TRIES} times; the server's log says what.`;
    await advanceDeployment(ctx, claim, { phase: "failed", message, error: message });
  } else {
    // Back in the queue, so that it blocks no other deployment of the app until its next try.
    await advanceDeployment(ctx, claim, {
      phase: "queued",
      message: "Something went wrong on Quayside's side; trying again.",
    });
    throw error;
  }
}

async function discardRelease(run: Run): Promise<void> {
  const { ctx, claim, agent } = run;
  const [release] = await ctx.db.orm.select().from(releases).where(eq(releases.id, claim.id));
  const process = processOf(release);
  if (process) await ctx.runtime.stopRelease(process, 2_000);
  await ctx.runtime.stopStrays(claim.id);
  await agent.forget(claim.id);
  await ctx.runtime.removeRelease(claim.id);
  await ctx.db.orm
    .update(releases)
    .set({ state: "removed", pid: null, stoppedAt: ctx.clock.now() })
    .where(and(eq(releases.id, claim.id), eq(releases.state, "starting")));
}

function say(run: Run, text: string): void {
  const line: LogLine = { at: run.ctx.clock.now(), stream: "system", line: text };
  run.writer.append(line);
}

async function watchCancellation(ctx: HostContext, id: string, cancel: AbortController): Promise<() => void> {
  const check = async () => {
    const [row] = await ctx.db.sql`SELECT cancel_requested_at FROM deployments WHERE id = ${id}`;
    if (row?.cancel_requested_at != null) cancel.abort(new Cancelled());
  };
  const look = () => {
    check().catch((error: unknown) => ctx.log.warn({ err: error, deploymentId: id }, "cancellation could not be read"));
  };
  const unsubscribe = await ctx.broker.subscribe(LOCAL_HOST_CHANNEL, { message: look, gap: look });
  look();
  return unsubscribe;
}
