import {
  campaignIdInput,
  campaignRecord,
  createCampaignInput,
  listCampaignsInput,
  listCampaignsOutput,
  updateCampaignInput,
} from "@quayside/contracts";
import { createCampaign, deleteCampaign, listCampaigns, readCampaign, updateCampaign } from "@quayside/core";
import { z } from "zod";
import { procedure, router } from "../platform/procedure.ts";

const tags = ["Campaigns"];
const reading = { auth: "caller", errors: "problem", kind: "json", scope: "read", status: 200 } as const;
const writing = { ...reading, scope: "write" } as const;

export const campaignsRouter = router({
  list: procedure
    .meta({
      openapi: {
        method: "GET",
        path: "/v1/crm/campaigns",
        tags,
        summary: "List campaigns, newest first",
        errorResponses: { 401: "Sign in required", 403: "Scope missing", 422: "Invalid input or cursor" },
      },
      rest: reading,
    })
    .input(listCampaignsInput)
    .output(listCampaignsOutput)
    .query(({ ctx, input }) => listCampaigns(ctx, input)),

  get: procedure
    .meta({
      openapi: {
        method: "GET",
        path: "/v1/crm/campaigns/{id}",
        tags,
        summary: "Read a campaign",
        errorResponses: { 401: "Sign in required", 403: "Scope missing", 404: "No such campaign" },
      },
      rest: reading,
    })
    .input(campaignIdInput)
    .output(campaignRecord)
    .query(({ ctx, input }) => readCampaign(ctx, input)),

  create: procedure
    .meta({ rest: { ...writing, status: 201 } })
    .input(createCampaignInput)
    .output(campaignRecord)
    .mutation(({ ctx, input }) => createCampaign(ctx, input)),

  update: procedure
    .meta({ rest: writing })
    .input(updateCampaignInput)
    .output(campaignRecord)
    .mutation(({ ctx, input }) => updateCampaign(ctx, input)),

  delete: procedure
    .meta({ rest: { ...writing, status: 204 } })
    .input(campaignIdInput)
    .output(z.void())
    .mutation(({ ctx, input }) => deleteCampaign(ctx, input)),
});
