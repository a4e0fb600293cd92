import { registryHealth } from "@quayside/contracts";
import { checkDatabase } from "@quayside/core";
import { procedure, router } from "../platform/procedure.ts";

export const registryRouter = router({
  health: procedure
    .meta({
      openapi: {
        method: "GET",
        path: "/health",
        tags: ["Registry"],
        protect: false,
        summary: "Whether the registry can work",
        errorResponses: { 503: "Database down" },
      },
      rest: { auth: "none", errors: "coded", status: 200, kind: "json" },
    })
    .output(registryHealth)
    .query(async ({ ctx }) => {
      const db = await checkDatabase(ctx);
      if (db === "down") ctx.status = 503;
      return { status: db === "up" ? ("ok" as const) : ("unavailable" as const), version: ctx.version, db };
    }),
});
