import { requireSystem } from "../../platform/authorize.ts";
import type { HostContext } from "../../platform/context.ts";

/** Stopped releases that are kept beside the live one, to roll back to. */
const KEPT_RELEASES = 5;
const BATCH = 20;

/** Removes the files of stopped releases beyond the newest 5 of each app, and of every deleted app. */
export async function pruneReleases(ctx: HostContext): Promise<void> {
  requireSystem(ctx);
  const rows = await ctx.db.sql<{ id: string }[]>`
    SELECT id FROM (
      SELECT r.id, a.deleted_at, row_number() OVER (PARTITION BY r.app_id, r.component ORDER BY r.created_at DESC) AS place
      FROM releases r JOIN apps a ON a.id = r.app_id WHERE r.state = 'stopped'
    ) stopped WHERE place > ${KEPT_RELEASES} OR deleted_at IS NOT NULL LIMIT ${BATCH}`;
  for (const { id } of rows) {
    await ctx.runtime.removeRelease(id);
    await ctx.db.sql`UPDATE releases SET state = 'removed' WHERE id = ${id} AND state = 'stopped'`;
  }
  await purgeDeletedProjects(ctx);
}

/** Removes fetched sources and caches of deleted projects, once nothing of them runs or is being deployed. */
async function purgeDeletedProjects(ctx: HostContext): Promise<void> {
  const rows = await ctx.db.sql<{ id: string }[]>`
    SELECT p.id FROM projects p WHERE p.deleted_at IS NOT NULL AND p.purged_at IS NULL
      AND NOT EXISTS (SELECT 1 FROM deployments d WHERE d.project_id = p.id AND d.phase IN ('building', 'deploying'))
      AND NOT EXISTS (SELECT 1 FROM apps a JOIN releases r ON r.app_id = a.id
        WHERE a.project_id = p.id AND r.state IN ('starting', 'live', 'draining', 'stopped'))
    LIMIT ${BATCH}`;
  for (const { id } of rows) {
    await ctx.runtime.removeProject(id);
    await ctx.db.sql`UPDATE projects SET purged_at = ${ctx.clock.now().toISOString()}::timestamptz WHERE id = ${id}`;
  }
}
