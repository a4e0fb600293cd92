import { createUserInput, organizationRecord, trustOrganizationInput, userRecord } from "@quayside/contracts";
import { createUser, trustOrganization } from "@quayside/core";
import { procedure, router } from "../platform/procedure.ts";

const tags = ["Registry administration"];
const forSuperAdmins = { auth: "super", errors: "coded", kind: "json" } as const;

export const usersRouter = router({
  create: procedure
    .meta({
      openapi: {
        method: "POST",
        path: "/api/v1/admin/users",
        tags,
        summary: "Create a user",
        errorResponses: {
          401: "Not signed in",
          403: "Not a super admin",
          409: "Name or email in use",
          422: "Invalid input",
        },
      },
      rest: { ...forSuperAdmins, status: 201 },
    })
    .input(createUserInput)
    .output(userRecord)
    .mutation(async ({ ctx, input }) => {
      const user = await createUser(ctx, input);
      return {
        ...user,
        emailVerifiedAt: user.emailVerifiedAt?.toISOString() ?? null,
        disabledAt: user.disabledAt?.toISOString() ?? null,
        createdAt: user.createdAt.toISOString(),
      };
    }),
});

export const organizationsRouter = router({
  trust: procedure
    .meta({
      openapi: {
        method: "POST",
        path: "/api/v1/admin/organizations/{id}/trust",
        tags,
        summary: "Let an organization's apps run on the host `local` without a sandbox",
        errorResponses: {
          401: "Not signed in",
          403: "Not a super admin",
          404: "No such organization",
          422: "Invalid input",
        },
      },
      rest: { ...forSuperAdmins, status: 200 },
    })
    .input(trustOrganizationInput)
    .output(organizationRecord)
    .mutation(({ ctx, input }) => trustOrganization(ctx, input)),
});
