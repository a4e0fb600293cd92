import {
  putEntitlementInput,
  putEntitlementOutput,
  readEntitlementInput,
  readEntitlementOutput,
} from "@quayside/contracts";
import { putEntitlement, readEntitlement } from "@quayside/core";
import { procedure, router } from "../platform/procedure.ts";

const tags = ["Plans and usage"];
const rest = { auth: "entitlements", errors: "problem", kind: "json", status: 200 } as const;
const errorResponses = { 401: "Wrong or missing secret", 422: "Invalid input", 503: "The secret is not set" };

export const entitlementsRouter = router({
  put: procedure
    .meta({
      openapi: {
        method: "PUT",
        path: "/v1/crm/internal/entitlements",
        tags,
        summary: "Set a user's plan",
        description:
          "It stands until a payment event that is created later arrives. Every process knows it within 1 s.",
        errorResponses,
      },
      rest,
    })
    .input(putEntitlementInput)
    .output(putEntitlementOutput)
    .mutation(async ({ ctx, input }) => ({ entitlement: await putEntitlement(ctx, input) })),

  read: procedure
    .meta({
      openapi: {
        method: "GET",
        path: "/v1/crm/internal/entitlements",
        tags,
        summary: "A user's plan, or null when none was ever set",
        errorResponses,
      },
      rest,
    })
    .input(readEntitlementInput)
    .output(readEntitlementOutput)
    .query(async ({ ctx, input }) => ({ entitlement: await readEntitlement(ctx, input) })),
});
