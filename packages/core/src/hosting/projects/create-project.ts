import { type BuildConfig, PlatformError, type ProjectRecord } from "@quayside/contracts";
import { projects, withTransaction } from "@quayside/db";
import { recordAudit } from "../../platform/audit.ts";
import { requireCaller } from "../../platform/authorize.ts";
import type { Context } from "../../platform/context.ts";
import { publishEvents } from "../../webhooks/index.ts";
import { findProjectById, recordOfRow } from "./find-projects.ts";
import { projectEventData } from "./project-event-data.ts";
import { storedRepo } from "./repo-credentials.ts";
import { numberedSlug, slugify } from "./slugs.ts";

export interface NewProject {
  name: string;
  slug?: string | undefined;
  repo?: string | null | undefined;
  defaultBranch?: string | undefined;
  buildConfig?: BuildConfig | undefined;
}

/** A project of the caller's organization. A slug in use gets -2, -3, …; a longer one is cut at 255 characters. */
export async function createProject(ctx: Context, input: NewProject): Promise<ProjectRecord> {
  const { organization } = requireCaller(ctx, "write");
  const id = ctx.ids.uuid();
  const source = storedRepo(ctx, id, input.repo ?? null);
  const wanted = slugify(input.slug ?? input.name);
  if (!wanted) {
    const field = input.slug === undefined ? "name" : "slug";
    const message = `${field} must contain a letter or digit from which a slug can be made; send a slug such as 'my-app'.`;
    throw new PlatformError("validation_failed", message, { issues: [{ field, code: "invalid_slug", message }] });
  }
  return withTransaction(ctx.db, async (tx) => {
    // One creation at a time in an organization, so that two equal names get two slugs.
    await tx.sql`SELECT pg_advisory_xact_lock(hashtext('project slugs'), hashtext(${organization.id}))`;
    const [row] = await tx.sql<{ taken: string[] | null }[]>`
      SELECT array_agg(slug) AS taken FROM projects
      WHERE organization_id = ${organization.id} AND deleted_at IS NULL AND slug LIKE ${`${wanted.slice(0, 240)}%`}`;
    const now = ctx.clock.now();
    await tx.orm.insert(projects).values({
      id,
      organizationId: organization.id,
      name: input.name,
      slug: numberedSlug(wanted, new Set(row?.taken ?? [])),
      ...source,
      defaultBranch: input.defaultBranch ?? "main",
      buildConfig: input.buildConfig ?? {},
      createdAt: now,
      updatedAt: now,
    });
    const project = await findProjectById(tx, organization.id, id);
    if (!project) throw new Error("The project that was just inserted is not there.");
    await recordAudit(tx, ctx, { action: "project.created", target: `project:${id}` });
    await publishEvents(tx, ctx, { organizationId: organization.id, area: "organization" }, [
      { type: "resource.created", data: projectEventData(project) },
    ]);
    return recordOfRow(project, ctx.config);
  });
}
