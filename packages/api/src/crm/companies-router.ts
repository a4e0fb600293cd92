import {
  companyIdInput,
  companyRecord,
  createCompanyInput,
  listCompaniesInput,
  listCompaniesOutput,
  updateCompanyInput,
} from "@quayside/contracts";
import { createCompany, deleteCompany, listCompanies, readCompany, updateCompany } from "@quayside/core";
import { z } from "zod";
import { procedure, router } from "../platform/procedure.ts";

const tags = ["Companies"];
const reading = { auth: "caller", errors: "problem", kind: "json", scope: "read", status: 200 } as const;
const writing = { ...reading, scope: "write" } as const;

export const companiesRouter = router({
  list: procedure
    .meta({
      openapi: {
        method: "GET",
        path: "/v1/crm/companies",
        tags,
        summary: "List companies, newest first",
        errorResponses: { 401: "Sign in required", 403: "Scope missing", 422: "Invalid input or cursor" },
      },
      rest: reading,
    })
    .input(listCompaniesInput)
    .output(listCompaniesOutput)
    .query(({ ctx, input }) => listCompanies(ctx, input)),

  get: procedure
    .meta({
      openapi: {
        method: "GET",
        path: "/v1/crm/companies/{id}",
        tags,
        summary: "Read a company",
        errorResponses: { 401: "Sign in required", 403: "Scope missing", 404: "No such company" },
      },
      rest: reading,
    })
    .input(companyIdInput)
    .output(companyRecord)
    .query(({ ctx, input }) => readCompany(ctx, input)),

  create: procedure
    .meta({ rest: { ...writing, status: 201 } })
    .input(createCompanyInput)
    .output(companyRecord)
    .mutation(({ ctx, input }) => createCompany(ctx, input)),

  update: procedure
    .meta({ rest: writing })
    .input(updateCompanyInput)
    .output(companyRecord)
    .mutation(({ ctx, input }) => updateCompany(ctx, input)),

  delete: procedure
    .meta({ rest: { ...writing, status: 204 } })
    .input(companyIdInput)
    .output(z.void())
    .mutation(({ ctx, input }) => deleteCompany(ctx, input)),
});
