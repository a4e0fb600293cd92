import { auditEvents, type Database } from "@quayside/db";
import { actorOf } from "./authorize.ts";
import type { Context } from "./context.ts";

export interface AuditEntry {
  action: string;
  target?: string;
  details?: Record<string, unknown>;
  /** Only when the actor is not the caller, as for the bootstrap. */
  actor?: string;
}

/** Records what happened, in the transaction of the change. */
export async function recordAudit(tx: Database, ctx: Context, entry: AuditEntry): Promise<void> {
  await tx.orm.insert(auditEvents).values({
    action: entry.action,
    actor: entry.actor ?? actorOf(ctx),
    target: entry.target ?? null,
    organizationId: ctx.principal?.organization.id ?? null,
    details: entry.details ?? {},
    ip: ctx.ip,
    createdAt: ctx.clock.now(),
  });
}
