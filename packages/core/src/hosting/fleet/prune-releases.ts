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
}
