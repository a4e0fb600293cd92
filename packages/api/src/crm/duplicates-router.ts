import {
  duplicatePairInput,
  findDuplicatesInput,
  findDuplicatesOutput,
  listMergesInput,
  listMergesOutput,
  mergeCandidatesInput,
  mergeCandidatesOutput,
  mergePeopleInput,
  mergePeopleOutput,
  scanDuplicatesInput,
  scanDuplicatesOutput,
  undoMergeInput,
  undoMergeOutput,
} from "@quayside/contracts";
import {
  dismissDuplicate,
  findDuplicates,
  findMergeCandidates,
  listMerges,
  mergePeople,
  restoreDuplicate,
  scanDuplicates,
  undoMerge,
} from "@quayside/core";
import { z } from "zod";
import { procedure, router } from "../platform/procedure.ts";

const reading = { auth: "caller", errors: "problem", kind: "json", scope: "read", status: 200 } as const;
const writing = { ...reading, scope: "write" } as const;

export const duplicatesRouter = router({
  candidates: procedure
    .meta({
      openapi: {
        method: "POST",
        path: "/v1/crm/people/{id}/merge-candidates",
        tags: ["People"],
        summary: "Compare a person with others who may be the same",
        description: "The likeliest first, with the reasons. Nothing is merged.",
        errorResponses: {
          401: "Sign in required",
          403: "Scope missing",
          404: "No such person",
          422: "Invalid input",
        },
      },
      rest: writing,
    })
    .input(mergeCandidatesInput)
    .output(mergeCandidatesOutput)
    .mutation(async ({ ctx, input }) => ({ candidates: await findMergeCandidates(ctx, input) })),

  find: procedure
    .meta({ rest: reading })
    .input(findDuplicatesInput)
    .output(findDuplicatesOutput)
    .query(async ({ ctx, input }) => ({ candidates: await findDuplicates(ctx, input) })),

  scan: procedure
    .meta({ rest: reading })
    .input(scanDuplicatesInput)
    .output(scanDuplicatesOutput)
    .query(({ ctx, input }) => scanDuplicates(ctx, input)),

  merge: procedure
    .meta({ rest: writing })
    .input(mergePeopleInput)
    .output(mergePeopleOutput)
    .mutation(({ ctx, input }) => mergePeople(ctx, input)),

  undo: procedure
    .meta({ rest: writing })
    .input(undoMergeInput)
    .output(undoMergeOutput)
    .mutation(({ ctx, input }) => undoMerge(ctx, input)),

  merges: procedure
    .meta({ rest: reading })
    .input(listMergesInput)
    .output(listMergesOutput)
    .query(async ({ ctx, input }) => ({ merges: await listMerges(ctx, input) })),

  dismiss: procedure
    .meta({ rest: { ...writing, status: 204 } })
    .input(duplicatePairInput)
    .output(z.void())
    .mutation(({ ctx, input }) => dismissDuplicate(ctx, input)),

  restore: procedure
    .meta({ rest: { ...writing, status: 204 } })
    .input(duplicatePairInput)
    .output(z.void())
    .mutation(({ ctx, input }) => restoreDuplicate(ctx, input)),
});
