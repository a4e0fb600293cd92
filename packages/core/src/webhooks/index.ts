export { createCrmWebhook } from "./crm-endpoints/create-crm-webhook.ts";
export { deleteCrmWebhook } from "./crm-endpoints/delete-crm-webhook.ts";
export { listCrmWebhooks } from "./crm-endpoints/list-crm-webhooks.ts";
export { readCrmWebhook } from "./crm-endpoints/read-crm-webhook.ts";
export { updateCrmWebhook } from "./crm-endpoints/update-crm-webhook.ts";
export { publishEvents, type WebhookEvent } from "./publish-events.ts";
