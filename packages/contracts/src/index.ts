export * from "./crm/index.ts";
export * from "./hosting/index.ts";
export * from "./identity/index.ts";
export * from "./platform/index.ts";
export * from "./webhooks/index.ts";
