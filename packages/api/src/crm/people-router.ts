import {
  bulkPeopleInput,
  bulkPeopleOutput,
  listPeopleInput,
  listPeopleOutput,
  personIdInput,
  personRecord,
  readPersonInput,
  readTimelineInput,
  readTimelineOutput,
  recordTouchpointsInput,
  recordTouchpointsOutput,
  scoreExplanation,
  sparsePerson,
  updatePersonInput,
  upsertPersonInput,
} from "@quayside/contracts";
import {
  bulkPeople,
  deletePerson,
  explainScore,
  listPeople,
  readPerson,
  readTimeline,
  recordTouchpoints,
  updatePerson,
  upsertPerson,
} from "@quayside/core";
import { z } from "zod";
import { procedure, router } from "../platform/procedure.ts";

const tags = ["People"];
const reading = { auth: "caller", errors: "problem", kind: "json", scope: "read", status: 200 } as const;
const writing = { ...reading, scope: "write" } as const;
const callerErrors = { 401: "Sign in required", 403: "Scope missing" };
const BULK_BODY_BYTES = 16 * 1_048_576;

export const peopleRouter = router({
  list: procedure
    .meta({
      openapi: {
        method: "GET",
        path: "/v1/crm/people",
        tags,
        summary: "List people",
        description: "Pages by cursor. A cursor belongs to the sort and filter that it came from.",
        errorResponses: { ...callerErrors, 422: "Invalid input or cursor" },
      },
      rest: { ...reading, nestedQuery: true },
    })
    .input(listPeopleInput)
    .output(listPeopleOutput)
    .query(({ ctx, input }) => listPeople(ctx, input)),

  get: procedure
    .meta({
      openapi: {
        method: "GET",
        path: "/v1/crm/people/{id}",
        tags,
        summary: "Read a person",
        description: "The id of a person who was merged into another gives the other.",
        errorResponses: { ...callerErrors, 404: "No such person", 422: "Invalid input" },
      },
      rest: { ...reading, nestedQuery: true },
    })
    .input(readPersonInput)
    .output(sparsePerson)
    .query(({ ctx, input }) => readPerson(ctx, input)),

  update: procedure
    .meta({
      openapi: {
        method: "PATCH",
        path: "/v1/crm/people/{id}",
        tags,
        summary: "Change a person",
        errorResponses: { ...callerErrors, 404: "No such person", 422: "Invalid input" },
      },
      rest: writing,
    })
    .input(updatePersonInput)
    .output(personRecord)
    .mutation(({ ctx, input }) => updatePerson(ctx, input)),

  upsert: procedure
    .meta({
      openapi: {
        method: "POST",
        path: "/v1/crm/people/{id}/upsert",
        tags,
        summary: "Create or change the person of an id",
        description: "200 when the person was there, 201 when new.",
        errorResponses: { ...callerErrors, 422: "Invalid input" },
      },
      rest: { ...writing, idempotent: true, otherStatus: { 201: "Created" } },
    })
    .input(upsertPersonInput)
    .output(personRecord)
    .mutation(async ({ ctx, input }) => {
      const { person, created } = await upsertPerson(ctx, input);
      ctx.status = created ? 201 : 200;
      return person;
    }),

  bulk: procedure
    .meta({
      openapi: {
        method: "POST",
        path: "/v1/crm/people/bulk",
        tags,
        summary: "Do many operations on people",
        description: "Each operation stands alone; results come in their order.",
        errorResponses: { ...callerErrors, 422: "Invalid input" },
      },
      rest: { ...writing, idempotent: true, maxBodyBytes: BULK_BODY_BYTES },
    })
    .input(bulkPeopleInput)
    .output(bulkPeopleOutput)
    .mutation(({ ctx, input }) => bulkPeople(ctx, input)),

  explainScore: procedure
    .meta({
      openapi: {
        method: "GET",
        path: "/v1/crm/people/{id}/score-explain",
        tags,
        summary: "Explain a person's score",
        errorResponses: { ...callerErrors, 404: "No such person" },
      },
      rest: reading,
    })
    .input(personIdInput)
    .output(scoreExplanation)
    .query(({ ctx, input }) => explainScore(ctx, input)),

  timeline: procedure
    .meta({
      openapi: {
        method: "GET",
        path: "/v1/crm/people/{id}/timeline",
        tags,
        summary: "What happened with a person, newest first",
        description: "Touchpoints, and the person's own changes.",
        errorResponses: { ...callerErrors, 422: "Invalid input" },
      },
      rest: reading,
    })
    .input(readTimelineInput)
    .output(readTimelineOutput)
    .query(async ({ ctx, input }) => ({ events: await readTimeline(ctx, input) })),

  recordTouchpoints: procedure
    .meta({ rest: writing })
    .input(recordTouchpointsInput)
    .output(recordTouchpointsOutput)
    .mutation(({ ctx, input }) => recordTouchpoints(ctx, input)),

  delete: procedure
    .meta({ rest: { ...writing, status: 204 } })
    .input(personIdInput)
    .output(z.void())
    .mutation(({ ctx, input }) => deletePerson(ctx, input)),
});
