import type { CampaignStatus } from "@quayside/contracts";
import { doublePrecision, integer, jsonb, pgTable, primaryKey, text, timestamp, uuid } from "drizzle-orm/pg-core";

const at = () => timestamp({ withTimezone: true, mode: "date" });

export const companies = pgTable(
  "companies",
  {
    id: uuid().notNull(),
    organizationId: uuid().notNull(),
    name: text().notNull(),
    domain: text(),
    attributes: jsonb().$type<Record<string, unknown>>().notNull().default({}),
    createdAt: at().notNull().defaultNow(),
    updatedAt: at().notNull().defaultNow(),
  },
  (table) => [primaryKey({ columns: [table.organizationId, table.id] })],
);

export const people = pgTable(
  "people",
  {
    id: uuid().notNull(),
    organizationId: uuid().notNull(),
    companyId: uuid(),
    email: text(),
    domain: text(),
    name: text(),
    tags: text().array().notNull().default([]),
    attributes: jsonb().$type<Record<string, unknown>>().notNull().default({}),
    score: integer().notNull().default(0),
    createdAt: at().notNull().defaultNow(),
    updatedAt: at().notNull().defaultNow(),
    engagement: doublePrecision().notNull().default(0),
    engagementAt: at(),
    engagementTotal: doublePrecision().notNull().default(0),
    scoreDueAt: at(),
  },
  (table) => [primaryKey({ columns: [table.organizationId, table.id] })],
);

export const campaigns = pgTable(
  "campaigns",
  {
    organizationId: uuid().notNull(),
    id: uuid().notNull(),
    name: text().notNull(),
    status: text().$type<CampaignStatus>().notNull(),
    description: text(),
    startsAt: at(),
    endsAt: at(),
    attributes: jsonb().$type<Record<string, unknown>>().notNull().default({}),
    createdAt: at().notNull().defaultNow(),
    updatedAt: at().notNull().defaultNow(),
  },
  (table) => [primaryKey({ columns: [table.organizationId, table.id] })],
);

export const timelineEvents = pgTable(
  "timeline_events",
  {
    organizationId: uuid().notNull(),
    id: uuid().notNull(),
    personId: uuid().notNull(),
    type: text().notNull(),
    occurredAt: at().notNull(),
    title: text().notNull(),
    data: jsonb().$type<Record<string, unknown>>().notNull().default({}),
    campaignId: uuid(),
    weight: doublePrecision(),
    mergedFrom: uuid(),
  },
  (table) => [primaryKey({ columns: [table.organizationId, table.id] })],
);

export const personRedirects = pgTable(
  "person_redirects",
  { organizationId: uuid().notNull(), id: uuid().notNull(), personId: uuid().notNull() },
  (table) => [primaryKey({ columns: [table.organizationId, table.id] })],
);

export const personMerges = pgTable(
  "person_merges",
  {
    organizationId: uuid().notNull(),
    id: uuid().notNull(),
    survivorId: uuid().notNull(),
    mergedId: uuid().notNull(),
    survivorBefore: jsonb().$type<Record<string, unknown>>().notNull(),
    survivorAfter: jsonb().$type<Record<string, unknown>>().notNull(),
    mergedBefore: jsonb().$type<Record<string, unknown>>().notNull(),
    actor: text().notNull(),
    createdAt: at().notNull().defaultNow(),
    undoneAt: at(),
  },
  (table) => [primaryKey({ columns: [table.organizationId, table.id] })],
);

export const personEmailAliases = pgTable(
  "person_email_aliases",
  {
    organizationId: uuid().notNull(),
    email: text().notNull(),
    personId: uuid().notNull(),
    mergeId: uuid().notNull(),
  },
  (table) => [primaryKey({ columns: [table.organizationId, table.email, table.personId] })],
);

export const duplicateDismissals = pgTable(
  "duplicate_dismissals",
  {
    organizationId: uuid().notNull(),
    firstId: uuid().notNull(),
    secondId: uuid().notNull(),
    actor: text().notNull(),
    createdAt: at().notNull().defaultNow(),
  },
  (table) => [primaryKey({ columns: [table.organizationId, table.firstId, table.secondId] })],
);
