import { requireCaller } from "../../platform/authorize.ts";
import type { Context } from "../../platform/context.ts";
import { deploymentChannel } from "../fleet/channels.ts";
import { findDeployment } from "./find-deployment.ts";

export interface DeploymentUpdate {
  id: number;
  status: string;
  message: string;
}

/**
 * Every update of a deployment after `lastEventId`, from the first one when it is left out, then new ones until the
 * reader leaves. Errors: `not_found`.
 */
export async function followDeployment(
  ctx: Context,
  input: { id: string; lastEventId?: string | undefined },
  signal: AbortSignal,
): Promise<AsyncGenerator<DeploymentUpdate>> {
  const { organization } = requireCaller(ctx, "read");
  const { id } = await findDeployment(ctx.db, organization.id, input.id);
  return ctx.feeds.follow(
    {
      channel: deploymentChannel(id),
      read: async (afterId, limit) => {
        const rows = await ctx.db.sql<{ id: string; status: string; message: string }[]>`
          SELECT id, status, message FROM deployment_events
          WHERE deployment_id = ${id} AND id > ${afterId} ORDER BY id LIMIT ${limit}`;
        return rows.map((row) => ({ id: Number(row.id), status: row.status, message: row.message }));
      },
      latest: async () => {
        const [row] = await ctx.db.sql<{ id: string | null }[]>`
          SELECT max(id) AS id FROM deployment_events WHERE deployment_id = ${id}`;
        return Number(row?.id ?? 0);
      },
    },
    Number(input.lastEventId ?? 0),
    signal,
  );
}
