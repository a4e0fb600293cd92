import { crmHealth, crmStats } from "@quayside/contracts";
import { checkDatabase, readStats } from "@quayside/core";
import { procedure } from "../platform/procedure.ts";

const tags = ["CRM"];

/** What is about the CRM as a whole. */
export const crmProcedures = {
  health: procedure
    .meta({
      openapi: {
        method: "GET",
        path: "/v1/crm/health",
        tags,
        protect: false,
        summary: "Whether the CRM can work",
        errorResponses: { 503: "Database down" },
      },
      rest: { auth: "none", errors: "problem", status: 200, kind: "json" },
    })
    .output(crmHealth)
    .query(async ({ ctx }) => {
      const db = await checkDatabase(ctx);
      if (db === "down") ctx.status = 503;
      return db === "up" ? { ok: true, db } : { ok: false, db, error: "The database cannot be reached." };
    }),

  stats: procedure
    .meta({
      openapi: {
        method: "GET",
        path: "/v1/crm/stats",
        tags,
        summary: "Numbers of people and companies",
        errorResponses: { 401: "Sign in required", 403: "Scope missing" },
      },
      rest: { auth: "caller", errors: "problem", status: 200, kind: "json", scope: "read" },
    })
    .output(crmStats)
    .query(({ ctx }) => readStats(ctx)),
};
