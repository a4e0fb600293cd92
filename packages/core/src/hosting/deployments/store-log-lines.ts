import type { LogLine } from "@quayside/contracts";
import type { Database } from "@quayside/db";
import { publish } from "../../platform/broker.ts";
import { logChannel } from "../fleet/channels.ts";

/**
 * Stores lines in order and announces them at commit. A build, its app and Quayside itself write to one log; the lock
 * keeps the ids in the order of the commits, on which readers rely.
 */
export async function storeLogLines(
  tx: Database,
  deploymentId: string,
  component: string,
  lines: readonly LogLine[],
): Promise<void> {
  if (lines.length === 0) return;
  await tx.sql`SELECT pg_advisory_xact_lock(hashtext('deployment log'), hashtext(${deploymentId}))`;
  await tx.sql`
    INSERT INTO deployment_log_lines (deployment_id, component, stream, at, line)
    SELECT ${deploymentId}::uuid, ${component}, line.stream, line.at, line.text
    FROM unnest(${lines.map((line) => line.stream)}::text[], ${lines.map((line) => line.at.toISOString())}::text[]::timestamptz[],
      ${lines.map((line) => line.line)}::text[]) WITH ORDINALITY AS line (stream, at, text, position)
    ORDER BY line.position`;
  await publish(tx, logChannel(deploymentId));
}
