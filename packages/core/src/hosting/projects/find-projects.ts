import type { BuildConfig, PlatformConfig, ProjectRecord } from "@quayside/contracts";
import type { Database } from "@quayside/db";
import { appUrl } from "./app-url.ts";

/** A project as the hot path reads it: one prepared statement, times as Unix milliseconds. */
interface ProjectSqlRow {
  id: string;
  name: string;
  slug: string;
  repo: string | null;
  defaultBranch: string;
  buildConfig: BuildConfig;
  createdAt: number;
  updatedAt: number;
  appCount: number;
  hostName: string | null;
}

export async function findProjectById(db: Database, organizationId: string, id: string): Promise<ProjectSqlRow | null> {
  const [row] = await db.sql<ProjectSqlRow[]>`
    SELECT p.id, p.name, p.slug, p.repo, p.default_branch AS "defaultBranch", p.build_config AS "buildConfig",
      (extract(epoch FROM p.created_at) * 1000)::float8 AS "createdAt",
      (extract(epoch FROM p.updated_at) * 1000)::float8 AS "updatedAt",
      (SELECT count(*)::int FROM apps a WHERE a.project_id = p.id AND a.deleted_at IS NULL) AS "appCount",
      (SELECT min(d.host_name) FROM apps a JOIN app_domains d ON d.app_id = a.id
        WHERE a.project_id = p.id AND a.deleted_at IS NULL) AS "hostName"
    FROM projects p
    WHERE p.id = ${id} AND p.organization_id = ${organizationId} AND p.deleted_at IS NULL`;
  return row ?? null;
}

export async function findProjectBySlug(
  db: Database,
  organizationId: string,
  slug: string,
): Promise<ProjectSqlRow | null> {
  const [row] = await db.sql<{ id: string }[]>`
    SELECT id FROM projects WHERE organization_id = ${organizationId} AND slug = ${slug} AND deleted_at IS NULL`;
  return row ? findProjectById(db, organizationId, row.id) : null;
}

export function listProjectRows(db: Database, organizationId: string, limit: number): Promise<ProjectSqlRow[]> {
  return db.sql<ProjectSqlRow[]>`
    SELECT p.id, p.name, p.slug, p.repo, p.default_branch AS "defaultBranch", p.build_config AS "buildConfig",
      (extract(epoch FROM p.created_at) * 1000)::float8 AS "createdAt",
      (extract(epoch FROM p.updated_at) * 1000)::float8 AS "updatedAt",
      count(DISTINCT a.id)::int AS "appCount", min(d.host_name) AS "hostName"
    FROM projects p
    LEFT JOIN apps a ON a.project_id = p.id AND a.deleted_at IS NULL
    LEFT JOIN app_domains d ON d.app_id = a.id
    WHERE p.organization_id = ${organizationId} AND p.deleted_at IS NULL
    GROUP BY p.id ORDER BY p.created_at DESC, p.id DESC LIMIT ${limit}`;
}

export function recordOfRow(row: ProjectSqlRow, config: PlatformConfig): ProjectRecord {
  return {
    id: row.id,
    name: row.name,
    slug: row.slug,
    repo: row.repo,
    defaultBranch: row.defaultBranch,
    buildConfig: row.buildConfig,
    appCount: row.appCount,
    url: row.hostName === null ? null : appUrl(row.hostName, config),
    createdAt: new Date(row.createdAt).toISOString(),
    updatedAt: new Date(row.updatedAt).toISOString(),
  };
}
