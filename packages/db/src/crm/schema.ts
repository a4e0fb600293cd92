import { integer, jsonb, pgTable, text, timestamp, uuid } from "drizzle-orm/pg-core";

const at = () => timestamp({ withTimezone: true, mode: "date" });

export const companies = pgTable("companies", {
  id: uuid().primaryKey(),
  organizationId: uuid().notNull(),
  name: text().notNull(),
  domain: text(),
  attributes: jsonb().$type<Record<string, unknown>>().notNull().default({}),
  createdAt: at().notNull().defaultNow(),
  updatedAt: at().notNull().defaultNow(),
});

export const people = pgTable("people", {
  id: uuid().primaryKey(),
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
});
