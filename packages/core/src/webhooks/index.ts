export { publishEvents, type WebhookEvent } from "./publish-events.ts";
