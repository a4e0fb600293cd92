import { PlatformError, type ProjectRecord } from "@quayside/contracts";
import { requireCaller } from "../../platform/authorize.ts";
import type { Context } from "../../platform/context.ts";
import { isUuid } from "../../platform/ids.ts";
import { findProjectById, findProjectBySlug, recordOfRow } from "./find-projects.ts";

/** A project by id or slug; the id wins. Errors: `not_found`. */
export async function readProject(ctx: Context, input: { identifier: string }): Promise<ProjectRecord> {
  const { organization } = requireCaller(ctx, "read");
  const { identifier } = input;
  const byId = isUuid(identifier) ? await findProjectById(ctx.db, organization.id, identifier) : null;
  const row = byId ?? (await findProjectBySlug(ctx.db, organization.id, identifier));
  if (!row) throw new PlatformError("not_found", `No project has the id or slug '${identifier}'.`);
  return recordOfRow(row, ctx.config);
}
