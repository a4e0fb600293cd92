// The bare handler beside an uncached `POST /v1/crm/api-keys/verify`: Express, a hash and the same prepared statement.
import { hash } from "node:crypto";
import express from "express";
import postgres from "postgres";
import { listen } from "./listen.ts";

const sql = postgres(process.env.DATABASE_URL ?? "", { max: 10, onnotice: () => {} });

const app = express();
app.use(express.json());
app.post("/v1/crm/api-keys/verify", async (req, res) => {
  const [row] = await sql`
    SELECT k.id, (extract(epoch FROM k.expires_at) * 1000)::float8 AS "expiresAt",
      (extract(epoch FROM k.revoked_at) * 1000)::float8 AS "revokedAt", u.id AS "userId", u.uid, u.name AS "userName",
      u.super_admin AS "superAdmin", (extract(epoch FROM u.disabled_at) * 1000)::float8 AS "disabledAt",
      o.id AS "organizationId", o.slug AS "organizationSlug", k.environment, k.scopes, k.tenant_id AS "tenantId",
      k.rate_limit_override AS "rateLimitOverride", k.tool_allowlist AS "toolAllowlist", e.plan,
      (extract(epoch FROM e.entitled_until) * 1000)::float8 AS "entitledUntil"
    FROM api_keys k
    JOIN users u ON u.id = k.user_id
    JOIN organizations o ON CASE WHEN k.tenant_id IS NULL THEN o.personal_user_id = u.id ELSE o.id = k.tenant_id END
    LEFT JOIN entitlements e ON e.user_uid = u.uid
    WHERE k.key_hash = ${hash("sha256", req.body.key, "buffer")}
      AND (k.tenant_id IS NULL OR EXISTS (
        SELECT 1 FROM memberships m WHERE m.organization_id = k.tenant_id AND m.user_id = k.user_id))`;
  if (!row) return void res.status(401).end();
  res.json({
    userId: row.uid,
    apiKeyId: row.id,
    scopes: row.scopes,
    environment: row.environment,
    plan: row.plan ?? "free",
    entitledUntil: row.entitledUntil,
    toolAllowlist: row.toolAllowlist,
    tenantId: row.tenantId,
    rateLimitOverride: row.rateLimitOverride,
  });
});
listen(app);
