import { requireCaller } from "../platform/authorize.ts";
import type { Context } from "../platform/context.ts";

/** How many people and companies the caller's organization has. */
export async function readStats(ctx: Context): Promise<{ people: number; companies: number }> {
  const { organization } = requireCaller(ctx, "read");
  const [row] = await ctx.db.sql<{ people: string; companies: string }[]>`
    SELECT (SELECT count(*) FROM people WHERE organization_id = ${organization.id}) AS people,
      (SELECT count(*) FROM companies WHERE organization_id = ${organization.id}) AS companies`;
  return { people: Number(row?.people ?? 0), companies: Number(row?.companies ?? 0) };
}
