import {
  createProjectInput,
  deletedOutput,
  listProjectsOutput,
  projectIdentifierInput,
  projectIdInput,
  projectRecord,
  updateProjectInput,
} from "@quayside/contracts";
import { createProject, deleteProject, listProjects, readProject, updateProject } from "@quayside/core";
import { procedure, router } from "../platform/procedure.ts";

const tags = ["Projects"];
const reading = { auth: "caller", errors: "envelope", kind: "json", scope: "read", status: 200 } as const;
const writing = { ...reading, scope: "write" } as const;

export const projectsRouter = router({
  list: procedure
    .meta({
      openapi: {
        method: "GET",
        path: "/api/projects",
        tags,
        summary: "List the organization's projects",
        errorResponses: { 401: "Sign in required", 403: "Scope missing" },
      },
      rest: reading,
    })
    .output(listProjectsOutput)
    .query(async ({ ctx }) => ({ projects: await listProjects(ctx) })),

  create: procedure
    .meta({
      openapi: {
        method: "POST",
        path: "/api/projects",
        tags,
        summary: "Create a project",
        errorResponses: { 401: "Sign in required", 403: "Scope missing", 422: "Invalid input" },
      },
      rest: { ...writing, status: 201, idempotent: true },
    })
    .input(createProjectInput)
    .output(projectRecord)
    .mutation(({ ctx, input }) => createProject(ctx, input)),

  get: procedure
    .meta({
      openapi: {
        method: "GET",
        path: "/api/projects/{identifier}",
        tags,
        summary: "Read a project by id or slug",
        errorResponses: { 401: "Sign in required", 403: "Scope missing", 404: "No such project" },
      },
      rest: reading,
    })
    .input(projectIdentifierInput)
    .output(projectRecord)
    .query(({ ctx, input }) => readProject(ctx, input)),

  update: procedure
    .meta({
      openapi: {
        method: "PATCH",
        path: "/api/projects/{id}",
        tags,
        summary: "Change a project",
        errorResponses: {
          401: "Sign in required",
          403: "Scope missing",
          404: "No such project",
          409: "Slug in use",
          422: "Invalid input",
        },
      },
      rest: writing,
    })
    .input(updateProjectInput)
    .output(projectRecord)
    .mutation(({ ctx, input }) => updateProject(ctx, input)),

  delete: procedure
    .meta({
      openapi: {
        method: "DELETE",
        path: "/api/projects/{id}",
        tags,
        summary: "Delete a project and stop what it runs",
        errorResponses: { 401: "Sign in required", 403: "Scope missing", 404: "No such project" },
      },
      rest: writing,
    })
    .input(projectIdInput)
    .output(deletedOutput)
    .mutation(({ ctx, input }) => deleteProject(ctx, input)),
});
