import { PlatformError } from "@quayside/contracts";
import type { Context } from "../../platform/context.ts";

/** `https://user:password@host/…`: everything up to the `@` is secret, as tokens stand in either place. */
const WITH_CREDENTIALS = /^(https?:\/\/)([^/@\s]+)@(.*)$/i;

export interface StoredRepo {
  repo: string | null;
  repoCredentials: Buffer | null;
}

/**
 * A repository address as it is stored: credentials apart and sealed, bound to their project. Undefined stays
 * undefined. Throws `validation_failed` for an address that would never be fetched.
 */
export function storedRepo(ctx: Context, projectId: string, repo: string | null | undefined): StoredRepo | undefined {
  if (repo === undefined) return undefined;
  if (repo === null) return { repo: null, repoCredentials: null };
  const reason = ctx.explainRefusedRepo(repo);
  if (reason) {
    throw new PlatformError("validation_failed", reason, {
      issues: [{ field: "repo", code: "invalid_repo", message: reason }],
    });
  }
  const [, scheme, credentials, rest] = WITH_CREDENTIALS.exec(repo) ?? [];
  if (!scheme || !credentials) return { repo, repoCredentials: null };
  return { repo: `${scheme}${rest}`, repoCredentials: ctx.sealer.seal(purposeOf(projectId), credentials) };
}

/** The address that git is given. */
export function fetchableRepo(ctx: Context, projectId: string, stored: StoredRepo): string | null {
  if (stored.repo === null || stored.repoCredentials === null) return stored.repo;
  const credentials = ctx.sealer.open(purposeOf(projectId), stored.repoCredentials).toString();
  return stored.repo.replace(/^(https?:\/\/)/i, `$1${credentials.replaceAll("$", "$$$$")}@`);
}

function purposeOf(projectId: string): string {
  return `project repository:${projectId}`;
}
