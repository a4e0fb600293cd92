import { bigint, integer, jsonb, pgTable, primaryKey, text, timestamp, uuid } from "drizzle-orm/pg-core";
import { bytea } from "../identity/schema.ts";

const at = () => timestamp({ withTimezone: true, mode: "date" });

export const auditEvents = pgTable("audit_events", {
  id: bigint({ mode: "number" }).primaryKey().generatedAlwaysAsIdentity(),
  action: text().notNull(),
  actor: text().notNull(),
  target: text(),
  organizationId: uuid(),
  details: jsonb().$type<Record<string, unknown>>().notNull().default({}),
  ip: text(),
  createdAt: at().notNull().defaultNow(),
});

export const rateLimitWindows = pgTable(
  "rate_limit_windows",
  { bucket: text().notNull(), windowStart: at().notNull(), count: bigint({ mode: "number" }).notNull() },
  (table) => [primaryKey({ columns: [table.bucket, table.windowStart] })],
);

export const idempotencyKeys = pgTable(
  "idempotency_keys",
  {
    organizationId: uuid().notNull(),
    route: text().notNull(),
    key: text().notNull(),
    requestHash: bytea().notNull(),
    responseStatus: integer().notNull(),
    responseBody: bytea().notNull(),
    createdAt: at().notNull().defaultNow(),
    expiresAt: at().notNull(),
  },
  (table) => [primaryKey({ columns: [table.organizationId, table.route, table.key] })],
);

export const workerProcesses = pgTable("worker_processes", {
  id: uuid().primaryKey(),
  lockKey: bigint({ mode: "number" }).notNull(),
  workerIds: text().array().notNull().default([]),
  startedAt: at().notNull().defaultNow(),
});
