import { ingestUsageInput, ingestUsageOutput, usageSummaryInput, usageSummaryOutput } from "@quayside/contracts";
import { ingestUsage, readUsageSummary } from "@quayside/core";
import { procedure, router } from "../platform/procedure.ts";

const tags = ["Plans and usage"];
const rest = { auth: "gateway", errors: "problem", kind: "json", status: 200 } as const;
/** 10,000 entries with room to spare. */
const MAX_INGEST_BYTES = 4 * 1_048_576;

export const usageRouter = router({
  ingest: procedure
    .meta({
      openapi: {
        method: "POST",
        path: "/v1/crm/internal/api-usage",
        tags,
        summary: "Report requests and errors of API keys",
        description:
          "Counts are added to the hour of each entry (UTC). Entries of unknown keys are skipped. With an `Idempotency-Key` a report that is sent again counts once.",
        errorResponses: {
          401: "Wrong or missing gateway bearer",
          409: "Idempotency-Key reused with another body, or still in progress",
          422: "Invalid input",
          503: "The gateway secret is not set",
        },
      },
      rest: { ...rest, maxBodyBytes: MAX_INGEST_BYTES, ownIdempotency: true },
    })
    .input(ingestUsageInput)
    .output(ingestUsageOutput)
    .mutation(async ({ ctx, input }) => {
      const { idempotencyKey } = ctx.given;
      const { outcome, replayed } = await ingestUsage(ctx, { entries: input.entries, idempotencyKey });
      ctx.replayed = replayed;
      return outcome;
    }),

  summary: procedure
    .meta({
      openapi: {
        method: "GET",
        path: "/v1/crm/internal/api-usage/summary",
        tags,
        summary: "Usage of all keys",
        errorResponses: {
          401: "Wrong or missing gateway bearer",
          422: "Invalid input",
          503: "The gateway secret is not set",
        },
      },
      rest,
    })
    .input(usageSummaryInput)
    .output(usageSummaryOutput)
    .query(({ ctx, input }) => readUsageSummary(ctx, input)),
});
