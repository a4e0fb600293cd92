import { crmProcedures } from "./crm/crm-router.ts";
import { peopleRouter } from "./crm/people-router.ts";
import { deploymentsRouter } from "./hosting/deployments-router.ts";
import { projectsRouter } from "./hosting/projects-router.ts";
import { apiKeysRouter } from "./identity/api-keys-router.ts";
import { sessionsRouter } from "./identity/sessions-router.ts";
import { organizationsRouter, usersRouter } from "./identity/users-router.ts";
import { router } from "./platform/procedure.ts";
import { registryRouter } from "./registry/registry-router.ts";

/** All procedures. The SDK is typed from this router alone. */
export const appRouter = router({
  identity: {
    sessions: sessionsRouter,
    apiKeys: apiKeysRouter,
    users: usersRouter,
    organizations: organizationsRouter,
  },
  crm: { ...crmProcedures, people: peopleRouter },
  registry: registryRouter,
  hosting: { projects: projectsRouter, deployments: deploymentsRouter },
});

export type AppRouter = typeof appRouter;
