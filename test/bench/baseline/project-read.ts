// The bare handler beside `GET /api/projects/:id`: Express and the same prepared statement; no credential, no schema,
// no log, no metrics.
import express from "express";
import postgres from "postgres";
import { listen } from "./listen.ts";

const { DATABASE_URL = "", PROJECT_ID = "" } = process.env;
const sql = postgres(DATABASE_URL, { max: 10, onnotice: () => {} });
const [owner] = await sql<{ id: string }[]>`SELECT organization_id AS id FROM projects WHERE id = ${PROJECT_ID}`;
const organizationId = owner?.id ?? "";

const app = express();
app.get("/api/projects/:id", async (req, res) => {
  const { id } = req.params;
  const [row] = await sql`
    SELECT p.id, p.name, p.slug, p.repo, p.default_branch AS "defaultBranch", p.build_config AS "buildConfig",
      (extract(epoch FROM p.created_at) * 1000)::float8 AS "createdAt",
      (extract(epoch FROM p.updated_at) * 1000)::float8 AS "updatedAt",
      (SELECT count(*)::int FROM apps a WHERE a.project_id = p.id AND a.deleted_at IS NULL) AS "appCount",
      (SELECT min(d.host_name) FROM apps a JOIN app_domains d ON d.app_id = a.id
        WHERE a.project_id = p.id AND a.deleted_at IS NULL) AS "hostName"
    FROM projects p
    WHERE p.id = ${id} AND p.organization_id = ${organizationId} AND p.deleted_at IS NULL`;
  if (!row) return void res.status(404).end();
  res.json({
    id: row.id,
    name: row.name,
    slug: row.slug,
    repo: row.repo,
    defaultBranch: row.defaultBranch,
    buildConfig: row.buildConfig,
    appCount: row.appCount,
    url: row.hostName,
    createdAt: new Date(row.createdAt).toISOString(),
    updatedAt: new Date(row.updatedAt).toISOString(),
  });
});
listen(app);
