import { type DeploymentRecord, PlatformError } from "@quayside/contracts";
import { appDomains, apps, type Database, deployments, projects, withTransaction } from "@quayside/db";
import { and, eq, isNull } from "drizzle-orm";
import { recordAudit } from "../../platform/audit.ts";
import { requireCaller } from "../../platform/authorize.ts";
import type { Context } from "../../platform/context.ts";
import { enqueue } from "../../platform/jobs.ts";
import { dnsLabel, numberedSlug } from "../projects/slugs.ts";
import { toDeploymentRecord } from "./deployment-record.ts";
import { findHostName } from "./find-deployment.ts";
import { recordEvent } from "./record-event.ts";

export interface NewDeployment {
  projectId: string;
  branch: string;
  commitSha: string;
  targetHost?: { id?: string | undefined; slug?: string | undefined; sshHost: string; sshUser: string } | undefined;
}

const LOCAL = "local";

/**
 * Queues a commit for deployment. The row, its first event and its job are one transaction. Errors: `not_found` for
 * the project, `source_missing` (422) when the project has no repository, `invalid_request` for a bad branch or host.
 */
export async function createDeployment(ctx: Context, input: NewDeployment): Promise<DeploymentRecord> {
  const { organization } = requireCaller(ctx, "write");
  refuseBadBranch(ctx, input.branch);
  refuseUnknownHost(input.targetHost);
  return withTransaction(ctx.db, async (tx) => {
    const [project] = await tx.orm
      .select()
      .from(projects)
      .where(
        and(eq(projects.id, input.projectId), eq(projects.organizationId, organization.id), isNull(projects.deletedAt)),
      )
      .for("share");
    if (!project) throw new PlatformError("not_found", `No project has the id ${input.projectId}.`);
    if (project.repo === null) {
      const message = `Project '${project.slug}' has no repository: set its 'repo' with PATCH /api/projects/${project.id}.`;
      throw new PlatformError("source_missing", message);
    }
    const appId = await ensureApp(tx, ctx, project);
    const id = ctx.ids.uuid();
    const [row] = await tx.orm
      .insert(deployments)
      .values({
        id,
        organizationId: organization.id,
        projectId: project.id,
        appId,
        status: "queued",
        phase: "queued",
        branch: input.branch,
        commitSha: input.commitSha,
        resolvedBuildConfig: { ...project.buildConfig, repo: project.repo },
        targetHost: input.targetHost ?? null,
        createdAt: ctx.clock.now(),
      })
      .returning();
    if (!row) throw new Error("INSERT INTO deployments returned no row.");
    await recordEvent(tx, ctx, id, { status: "queued", message: `Queued ${input.commitSha} of ${input.branch}.` });
    // One queue an app: its deployments run one after another, in order.
    await enqueue(
      tx,
      "hosting.deploy",
      { deploymentId: id },
      { jobKey: `deployment:${id}`, queueName: `app:${appId}` },
    );
    await recordAudit(tx, ctx, { action: "deployment.created", target: `deployment:${id}` });
    return toDeploymentRecord(row, await findHostName(tx, appId), ctx.config);
  });
}

function refuseBadBranch(ctx: Context, branch: string): void {
  const reason = ctx.explainRefusedBranch(branch);
  if (reason) {
    throw new PlatformError("invalid_request", reason, {
      issues: [{ field: "branch", code: "invalid_branch", message: reason }],
    });
  }
}

function refuseUnknownHost(host: NewDeployment["targetHost"]): void {
  if (!host || host.slug === LOCAL || host.sshHost === LOCAL || host.sshHost === "localhost") return;
  throw new PlatformError(
    "invalid_request",
    `The host '${host.slug ?? host.sshHost}' is not in the fleet; known: local.`,
  );
}

/** The app under the project's slug, made at the first deployment together with its host name. */
async function ensureApp(tx: Database, ctx: Context, project: typeof projects.$inferSelect): Promise<string> {
  await tx.sql`SELECT pg_advisory_xact_lock(hashtext('app of project'), hashtext(${project.id}))`;
  const [present] = await tx.orm
    .select({ id: apps.id })
    .from(apps)
    .where(and(eq(apps.projectId, project.id), isNull(apps.deletedAt)))
    .orderBy(apps.createdAt)
    .limit(1);
  if (present) return present.id;
  const id = ctx.ids.uuid();
  const { organizationId } = project;
  await tx.sql`SELECT pg_advisory_xact_lock(hashtext('app slugs'), hashtext(${organizationId}))`;
  // Another project may have had this slug when its app was made.
  const [row] = await tx.sql<{ taken: string[] | null }[]>`
    SELECT array_agg(slug) AS taken FROM apps
    WHERE organization_id = ${organizationId} AND deleted_at IS NULL AND slug LIKE ${`${project.slug.slice(0, 240)}%`}`;
  const slug = numberedSlug(project.slug, new Set(row?.taken ?? []));
  await tx.orm.insert(apps).values({ id, organizationId, projectId: project.id, slug, createdAt: ctx.clock.now() });
  await tx.orm.insert(appDomains).values({
    hostName: await freeHostName(tx, ctx, organizationId, slug),
    organizationId,
    appId: id,
    component: "web",
  });
  return id;
}

/** `<slug>.<APPS_DOMAIN>`; when another app has it, with the organization's slug, then with a number. */
async function freeHostName(tx: Database, ctx: Context, organizationId: string, slug: string): Promise<string> {
  const organization = await organizationSlug(tx, organizationId);
  await tx.sql`SELECT pg_advisory_xact_lock(hashtext('app host names'))`;
  for (let attempt = 0; attempt < 1_000; attempt += 1) {
    const suffix = ["", `-${organization}`][attempt] ?? `-${organization}-${attempt}`;
    const hostName = `${dnsLabel(slug, dnsLabel(suffix).slice(0, 40))}.${ctx.config.APPS_DOMAIN}`;
    const [taken] = await tx.orm
      .select({ hostName: appDomains.hostName })
      .from(appDomains)
      .where(eq(appDomains.hostName, hostName));
    if (!taken) return hostName;
  }
  throw new PlatformError("conflict", `No host name is free for the slug '${slug}'; choose another slug.`);
}

async function organizationSlug(tx: Database, organizationId: string): Promise<string> {
  const [row] = await tx.sql<{ slug: string }[]>`SELECT slug FROM organizations WHERE id = ${organizationId}`;
  return row?.slug ?? "org";
}
