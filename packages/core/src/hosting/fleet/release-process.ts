import type { RunningProcess } from "@quayside/contracts";
import type { ReleaseRow } from "@quayside/db";

/** The process that a release row names, if any. */
export function processOf(release: ReleaseRow | undefined): RunningProcess | null {
  if (!release || release.pid === null || release.startToken === null || release.port === null) return null;
  return { pid: release.pid, startToken: release.startToken, port: release.port };
}
