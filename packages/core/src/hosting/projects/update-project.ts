import { type BuildConfig, PlatformError, type ProjectRecord } from "@quayside/contracts";
import { projects, withTransaction } from "@quayside/db";
import { and, eq, isNull } from "drizzle-orm";
import { recordAudit } from "../../platform/audit.ts";
import { requireCaller } from "../../platform/authorize.ts";
import type { Context } from "../../platform/context.ts";
import { isUniqueViolation } from "../../platform/database-errors.ts";
import { findProjectById, recordOfRow } from "./find-projects.ts";
import { storedRepo } from "./repo-credentials.ts";

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
      const [changed] = await tx.orm
        .update(projects)
        .set({ ...changes, ...source, updatedAt: ctx.clock.now() })
        .where(and(eq(projects.id, id), eq(projects.organizationId, organization.id), isNull(projects.deletedAt)))
        .returning({ id: projects.id });
      const row = changed && (await findProjectById(tx, organization.id, id));
      if (!row) throw new PlatformError("not_found", `No project has the id ${id}.`);
      await recordAudit(tx, ctx, {
        action: "project.updated",
        target: `project:${id}`,
        details: { fields: [...Object.keys(changes), ...(source ? ["repo"] : [])] },
      });
      return recordOfRow(row, ctx.config);
    });
  } catch (error) {
    if (!isUniqueViolation(error)) throw error;
    throw new PlatformError("conflict", `The slug '${input.slug}' is in use by another project.`);
  }
}
