import { isDeepStrictEqual } from "node:util";
import { type BuildConfig, PlatformError, type ProjectRecord } from "@quayside/contracts";
import { projects, withTransaction } from "@quayside/db";
import { and, eq, isNull } from "drizzle-orm";
import { recordAudit } from "../../platform/audit.ts";
import { requireCaller } from "../../platform/authorize.ts";
import type { Context } from "../../platform/context.ts";
import { isUniqueViolation } from "../../platform/database-errors.ts";
import { publishEvents } from "../../webhooks/index.ts";
import { findProjectById, recordOfRow } from "./find-projects.ts";
import { projectEventData } from "./project-event-data.ts";
import { fetchableRepo, type StoredRepo, storedRepo } from "./repo-credentials.ts";

export interface ProjectChange {
  id: string;
  name?: string | undefined;
  slug?: string | undefined;
  repo?: string | null | undefined;
  defaultBranch?: string | undefined;
  buildConfig?: BuildConfig | undefined;
}

/**
 * Changes the given fields; `buildConfig` is replaced as a whole. What runs keeps its frozen settings until the next
 * deployment. Errors: `not_found`, `conflict` for a slug in use.
 */
export async function updateProject(ctx: Context, input: ProjectChange): Promise<ProjectRecord> {
  const { organization } = requireCaller(ctx, "write");
  const { id, repo, ...fields } = input;
  const source = storedRepo(ctx, id, repo);
  const changes = Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
  try {
    return await withTransaction(ctx.db, async (tx) => {
      const mine = and(eq(projects.id, id), eq(projects.organizationId, organization.id), isNull(projects.deletedAt));
      const [before] = await tx.orm.select().from(projects).where(mine).for("no key update");
      if (!before) throw new PlatformError("not_found", `No project has the id ${id}.`);
      await tx.orm
        .update(projects)
        .set({ ...changes, ...source, updatedAt: ctx.clock.now() })
        .where(eq(projects.id, id));
      const row = await findProjectById(tx, organization.id, id);
      if (!row) throw new Error("The project that was just changed is not there.");
      await recordAudit(tx, ctx, {
        action: "project.updated",
        target: `project:${id}`,
        details: { fields: [...Object.keys(changes), ...(source ? ["repo"] : [])] },
      });
      const changed = changedFields(ctx, before, changes, source);
      await publishEvents(
        tx,
        ctx,
        { organizationId: organization.id, area: "organization" },
        changed.length > 0 ? [{ type: "resource.updated", data: projectEventData(row, changed) }] : [],
      );
      return recordOfRow(row, ctx.config);
    });
  } catch (error) {
    if (!isUniqueViolation(error)) throw error;
    throw new PlatformError("conflict", `The slug '${input.slug}' is in use by another project.`);
  }
}

/** The fields that have another value now; another credential of the repository counts as another `repo`. */
function changedFields(
  ctx: Context,
  before: typeof projects.$inferSelect,
  changes: Record<string, unknown>,
  source: StoredRepo | undefined,
): string[] {
  const fields = Object.entries(changes).flatMap(([name, value]) =>
    isDeepStrictEqual(value, before[name as keyof typeof before]) ? [] : [name],
  );
  const moved = source && fetchableRepo(ctx, before.id, source) !== fetchableRepo(ctx, before.id, before);
  return moved ? [...fields, "repo"] : fields;
}
