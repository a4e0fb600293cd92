import type { WebhookArea, WebhookEndpointStatus } from "@quayside/contracts";
import { jsonb, pgTable, text, timestamp, uuid } from "drizzle-orm/pg-core";
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
  status: text().$type<WebhookEndpointStatus>().notNull(),
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
