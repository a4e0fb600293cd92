import type { WebhookEndpointStatus } from "@quayside/contracts";
import { type Database, webhookEndpoints } from "@quayside/db";
import { eq } from "drizzle-orm";
import type { Context } from "../../platform/context.ts";
import { wakeEndpoints } from "../delivering/wake-endpoints.ts";
import { cancelPending } from "../disable-endpoint.ts";
import type { EndpointRow } from "./find-endpoint.ts";

type Changes = Partial<EndpointRow>;

const HOUR_MS = 3_600_000;

/** What goes with another URL: how the old receiver behaved says nothing of the new one. */
export function urlChanges(row: EndpointRow, url: string | undefined): Changes {
  if (url === undefined || url === row.url) return {};
  return { url, failingSince: null, pausedUntil: null, pace: null };
}

/** What goes with enabling: a new start. Disabling keeps the reason of an endpoint that is disabled already. */
export function statusChanges(row: EndpointRow, status: WebhookEndpointStatus | undefined): Changes {
  if (status === "enabled") return { status, disabledReason: null, failingSince: null, pausedUntil: null };
  if (status === "disabled" && row.status === "enabled") return { status, disabledReason: "Disabled by hand." };
  return {};
}

/** Another secret takes over, and the present one signs too for so many hours. Both are sealed for the same endpoint. */
export function secretChanges(row: EndpointRow, sealed: Buffer, hours: number, now: Date) {
  const previous =
    hours > 0
      ? { previousSecret: row.secret, previousSecretUntil: new Date(now.getTime() + hours * HOUR_MS) }
      : { previousSecret: null, previousSecretUntil: null };
  return { secret: sealed, ...previous };
}

/** Stores changes of a locked endpoint, and does what they mean for the deliveries that wait. */
export async function storeChanges(
  tx: Database,
  ctx: Context,
  row: EndpointRow,
  changes: Changes,
): Promise<EndpointRow> {
  const [changed] = await tx.orm
    .update(webhookEndpoints)
    .set({ ...changes, updatedAt: ctx.clock.now() })
    .where(eq(webhookEndpoints.id, row.id))
    .returning();
  if (!changed) throw new Error("A webhook that is locked is not there.");
  // What waits for an endpoint that is deleted goes with it.
  if (changes.status === "disabled" && !changed.deletedAt) await cancelPending(tx, ctx, row.id);
  // What was held back by a pause goes out at once.
  if (changed.status === "enabled" && "pausedUntil" in changes) await wakeEndpoints(tx, [row.id]);
  return changed;
}
