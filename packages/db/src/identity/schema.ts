import type { ApiScope, KeyEnvironment, Plan, SubscriptionFacts, TokenRole } from "@quayside/contracts";
import {
  bigint,
  boolean,
  customType,
  date,
  integer,
  jsonb,
  pgTable,
  primaryKey,
  text,
  timestamp,
  uuid,
} from "drizzle-orm/pg-core";

/** Binary columns are Buffers on both sides. */
export const bytea = customType<{ data: Buffer; driverData: Buffer }>({ dataType: () => "bytea" });
const at = () => timestamp({ withTimezone: true, mode: "date" });

export const users = pgTable("users", {
  id: integer().primaryKey().generatedAlwaysAsIdentity(),
  uid: uuid().notNull(),
  name: text().notNull(),
  email: text(),
  emailVerifiedAt: at(),
  passwordHash: text(),
  superAdmin: boolean().notNull().default(false),
  disabledAt: at(),
  createdAt: at().notNull().defaultNow(),
});

export const organizations = pgTable("organizations", {
  id: uuid().primaryKey(),
  name: text().notNull(),
  slug: text().notNull(),
  trusted: boolean().notNull().default(false),
  personalUserId: integer(),
  createdAt: at().notNull().defaultNow(),
});

export const memberships = pgTable(
  "memberships",
  {
    organizationId: uuid().notNull(),
    userId: integer().notNull(),
    role: text().$type<"owner" | "admin" | "member">().notNull(),
    createdAt: at().notNull().defaultNow(),
  },
  (table) => [primaryKey({ columns: [table.organizationId, table.userId] })],
);

export const sessions = pgTable("sessions", {
  id: uuid().primaryKey(),
  userId: integer().notNull(),
  createdAt: at().notNull().defaultNow(),
  expiresAt: at().notNull(),
  revokedAt: at(),
});

export const issuedJwts = pgTable("issued_jwts", {
  id: uuid().primaryKey(),
  userId: integer().notNull(),
  organizationId: uuid().notNull(),
  createdAt: at().notNull().defaultNow(),
  expiresAt: at().notNull(),
  revokedAt: at(),
});

export const roleTokens = pgTable("role_tokens", {
  id: uuid().primaryKey(),
  userId: integer().notNull(),
  organizationId: uuid().notNull(),
  name: text().notNull(),
  role: text().$type<TokenRole>().notNull(),
  packageScope: text(),
  tokenHash: bytea().notNull(),
  createdAt: at().notNull().defaultNow(),
  expiresAt: at(),
  revokedAt: at(),
});

export const apiKeys = pgTable("api_keys", {
  id: uuid().primaryKey(),
  userId: integer().notNull(),
  tenantId: uuid(),
  name: text().notNull(),
  environment: text().$type<KeyEnvironment>().notNull(),
  scopes: text().array().$type<ApiScope[]>().notNull(),
  keyHash: bytea().notNull(),
  prefix: text().notNull(),
  rateLimitOverride: jsonb().$type<Partial<Record<ApiScope, number>>>(),
  toolAllowlist: jsonb().$type<string[]>(),
  createdAt: at().notNull().defaultNow(),
  expiresAt: at(),
  lastUsedAt: at(),
  revokedAt: at(),
  successorId: uuid(),
});

export const entitlements = pgTable("entitlements", {
  userUid: uuid().primaryKey(),
  plan: text().$type<Plan>().notNull(),
  entitledUntil: at(),
  source: text().notNull(),
  updatedAt: at().notNull().defaultNow(),
  setByHandAt: at(),
});

export const paymentEvents = pgTable("payment_events", {
  id: text().primaryKey(),
  type: text().notNull(),
  handled: boolean().notNull(),
  subscriptionId: text(),
  facts: jsonb().$type<SubscriptionFacts>(),
  createdAt: at().notNull(),
  receivedAt: at().notNull().defaultNow(),
  appliedAt: at(),
});

export const paymentSubscriptions = pgTable("payment_subscriptions", {
  id: text().primaryKey(),
  userUid: uuid(),
  facts: jsonb().$type<SubscriptionFacts>().notNull(),
  updatedAt: at().notNull().defaultNow(),
});

export const apiUsageHours = pgTable(
  "api_usage_hours",
  {
    apiKeyId: uuid().notNull(),
    hour: at().notNull(),
    requests: bigint({ mode: "number" }).notNull().default(0),
    errors: bigint({ mode: "number" }).notNull().default(0),
  },
  (table) => [primaryKey({ columns: [table.apiKeyId, table.hour] })],
);

export const apiUsageDays = pgTable(
  "api_usage_days",
  {
    apiKeyId: uuid().notNull(),
    day: date().notNull(),
    requests: bigint({ mode: "number" }).notNull().default(0),
    errors: bigint({ mode: "number" }).notNull().default(0),
  },
  (table) => [primaryKey({ columns: [table.apiKeyId, table.day] })],
);

export const usageReports = pgTable("usage_reports", {
  key: text().primaryKey(),
  requestHash: bytea().notNull(),
  response: text().notNull(),
  createdAt: at().notNull().defaultNow(),
  expiresAt: at().notNull(),
});
