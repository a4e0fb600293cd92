import type { AttemptTimings, DeliveryStatus, WebhookArea, WebhookEndpointStatus } from "@quayside/contracts";
import {
  bigint,
  boolean,
  doublePrecision,
  integer,
  jsonb,
  pgTable,
  primaryKey,
  smallint,
  text,
  timestamp,
  uuid,
} from "drizzle-orm/pg-core";
import { bytea } from "../identity/schema.ts";

const at = () => timestamp({ withTimezone: true, mode: "date" });

export const webhookEndpoints = pgTable("webhook_endpoints", {
  id: uuid().primaryKey(),
  organizationId: uuid().notNull(),
  area: text().$type<WebhookArea>().notNull(),
  name: text().notNull(),
  url: text().notNull(),
  events: text().array().notNull(),
  secret: bytea().notNull(),
  previousSecret: bytea(),
  previousSecretUntil: at(),
  status: text().$type<WebhookEndpointStatus>().notNull(),
  disabledReason: text(),
  failingSince: at(),
  pace: doublePrecision(),
  pausedUntil: at(),
  deletedAt: at(),
  createdAt: at().notNull().defaultNow(),
  updatedAt: at().notNull().defaultNow(),
});

export const webhookEvents = pgTable("webhook_events", {
  id: uuid().primaryKey(),
  organizationId: uuid().notNull(),
  area: text().$type<WebhookArea>().notNull(),
  type: text().notNull(),
  data: jsonb().$type<Record<string, unknown>>().notNull(),
  occurredAt: at().notNull(),
});

export const webhookDeliveries = pgTable("webhook_deliveries", {
  id: uuid().primaryKey(),
  organizationId: uuid().notNull(),
  endpointId: uuid().notNull(),
  eventId: uuid().notNull(),
  type: text().notNull(),
  status: text().$type<DeliveryStatus>().notNull(),
  attempts: integer().notNull().default(0),
  maxAttempts: integer().notNull(),
  nextAttemptAt: at(),
  priority: smallint().notNull().default(0),
  createdAt: at().notNull(),
  finishedAt: at(),
});

export const webhookAttempts = pgTable(
  "webhook_attempts",
  {
    deliveryId: uuid().notNull(),
    attempt: integer().notNull(),
    at: at().notNull(),
    statusCode: integer(),
    durationMs: integer(),
    errorClass: text(),
    error: text(),
    responseBody: text(),
    truncated: boolean().notNull().default(false),
    address: text(),
    timings: jsonb().$type<AttemptTimings>(),
  },
  (table) => [primaryKey({ columns: [table.deliveryId, table.attempt] })],
);

export const webhookWatches = pgTable("webhook_watches", {
  organizationId: uuid().primaryKey(),
  until: at().notNull(),
});

export const webhookActivity = pgTable("webhook_activity", {
  id: bigint({ mode: "number" }).primaryKey().generatedAlwaysAsIdentity(),
  position: bigint({ mode: "number" }),
  organizationId: uuid().notNull(),
  endpointId: uuid().notNull(),
  deliveryId: uuid().notNull(),
  eventId: uuid().notNull(),
  type: text().notNull(),
  status: text().$type<DeliveryStatus>().notNull(),
  attempt: integer().notNull(),
  statusCode: integer(),
  at: at().notNull(),
});
