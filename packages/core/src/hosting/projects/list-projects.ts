import type { ProjectRecord } from "@quayside/contracts";
import { requireCaller } from "../../platform/authorize.ts";
import type { Context } from "../../platform/context.ts";
import { listProjectRows, recordOfRow } from "./find-projects.ts";

const MAX_PROJECTS = 1_000;

/** The organization's projects, newest first; at most 1,000. */
export async function listProjects(ctx: Context): Promise<ProjectRecord[]> {
  const { organization } = requireCaller(ctx, "read");
  const rows = await listProjectRows(ctx.db, organization.id, MAX_PROJECTS);
  return rows.map((row) => recordOfRow(row, ctx.config));
}
