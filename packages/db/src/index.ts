export * from "./crm/schema.ts";
export * from "./hosting/schema.ts";
export * from "./identity/schema.ts";
export { type Database, type DatabasePool, openDatabase, withTransaction } from "./platform/client.ts";
export { startEmbeddedPostgres } from "./platform/embedded/index.ts";
export { migrateDatabase } from "./platform/migrate-database.ts";
export * from "./platform/schema.ts";
export { endStuckConnections, watchForStuckConnections } from "./platform/stuck-connections.ts";
export * from "./webhooks/schema.ts";
