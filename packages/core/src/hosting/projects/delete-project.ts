import { PlatformError } from "@quayside/contracts";
import { withTransaction } from "@quayside/db";
import { recordAudit } from "../../platform/audit.ts";
import { requireCaller } from "../../platform/authorize.ts";
import { publish } from "../../platform/broker.ts";
import type { Context } from "../../platform/context.ts";
import { publishEvents } from "../../webhooks/index.ts";
import { recordEvent } from "../deployments/record-event.ts";
import { LOCAL_HOST_CHANNEL } from "../fleet/channels.ts";
import { projectEventData } from "./project-event-data.ts";

/**
 * Soft-deletes a project: the row stays, its slug and host names are free again, waiting deployments are cancelled
 * and what runs is drained and stopped. Errors: `not_found`.
 */
export async function deleteProject(ctx: Context, input: { id: string }): Promise<{ success: true }> {
  const { organization } = requireCaller(ctx, "write");
  const now = ctx.clock.now().toISOString();
  await withTransaction(ctx.db, async (tx) => {
    const [project] = await tx.sql<{ id: string; name: string; slug: string }[]>`
      UPDATE projects SET deleted_at = ${now}::timestamptz
      WHERE id = ${input.id} AND organization_id = ${organization.id} AND deleted_at IS NULL
      RETURNING id, name, slug`;
    if (!project) throw new PlatformError("not_found", `No project has the id ${input.id}.`);
    await tx.sql`UPDATE apps SET deleted_at = ${now}::timestamptz WHERE project_id = ${input.id} AND deleted_at IS NULL`;
    await tx.sql`DELETE FROM app_domains WHERE app_id IN (SELECT id FROM apps WHERE project_id = ${input.id})`;
    const waiting = await tx.sql<{ id: string }[]>`
      UPDATE deployments SET phase = 'cancelled', status = 'cancelled', finished_at = ${now}::timestamptz,
        error = 'The project was deleted.'
      WHERE project_id = ${input.id} AND phase = 'queued' RETURNING id`;
    for (const { id } of waiting) {
      await recordEvent(tx, ctx, id, { status: "cancelled", message: "Cancelled: the project was deleted." });
    }
    await tx.sql`
      UPDATE deployments SET cancel_requested_at = ${now}::timestamptz
      WHERE project_id = ${input.id} AND phase IN ('building', 'deploying')`;
    await tx.sql`
      UPDATE releases SET state = 'draining'
      WHERE state = 'live' AND app_id IN (SELECT id FROM apps WHERE project_id = ${input.id})`;
    await publish(tx, LOCAL_HOST_CHANNEL);
    await recordAudit(tx, ctx, { action: "project.deleted", target: `project:${input.id}` });
    await publishEvents(tx, ctx, { organizationId: organization.id, area: "organization" }, [
      { type: "resource.deleted", data: projectEventData(project) },
    ]);
  });
  return { success: true };
}
