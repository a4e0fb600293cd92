import { PlatformError } from "@quayside/contracts";
import type { Context } from "../../platform/context.ts";

/** Throws `validation_failed` for a repository address that would never be fetched. */
export function refuseBadRepo(ctx: Context, repo: string | null | undefined): void {
  if (repo == null) return;
  const reason = ctx.explainRefusedRepo(repo);
  if (!reason) return;
  throw new PlatformError("validation_failed", reason, {
    issues: [{ field: "repo", code: "invalid_repo", message: reason }],
  });
}
