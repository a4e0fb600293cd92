import { campaignsRouter } from "./crm/campaigns-router.ts";
import { companiesRouter } from "./crm/companies-router.ts";
import { crmProcedures } from "./crm/crm-router.ts";
import { crmWebhooksRouter } from "./crm/crm-webhooks-router.ts";
import { duplicatesRouter } from "./crm/duplicates-router.ts";
import { peopleRouter } from "./crm/people-router.ts";
import { deploymentsRouter } from "./hosting/deployments-router.ts";
import { projectsRouter } from "./hosting/projects-router.ts";
import { apiKeysRouter } from "./identity/api-keys-router.ts";
import { entitlementsRouter } from "./identity/entitlements-router.ts";
import { paymentsRouter } from "./identity/payments-router.ts";
import { sessionsRouter } from "./identity/sessions-router.ts";
import { usageRouter } from "./identity/usage-router.ts";
import { organizationsRouter, usersRouter } from "./identity/users-router.ts";
import { router } from "./platform/procedure.ts";
import { registryRouter } from "./registry/registry-router.ts";
import { webhooksRouter } from "./webhooks/webhooks-router.ts";

/** All procedures. The SDK is typed from this router alone. */
export const appRouter = router({
  identity: {
    sessions: sessionsRouter,
    apiKeys: apiKeysRouter,
    users: usersRouter,
    organizations: organizationsRouter,
    entitlements: entitlementsRouter,
    payments: paymentsRouter,
    usage: usageRouter,
  },
  crm: {
    ...crmProcedures,
    people: peopleRouter,
    duplicates: duplicatesRouter,
    companies: companiesRouter,
    campaigns: campaignsRouter,
    webhooks: crmWebhooksRouter,
  },
  registry: registryRouter,
  hosting: { projects: projectsRouter, deployments: deploymentsRouter },
  webhooks: webhooksRouter,
});

export type AppRouter = typeof appRouter;
