import type { BuildConfig, BuildSettings, DeploymentPhase, HealthSettings } from "@quayside/contracts";
import { bigint, boolean, integer, jsonb, pgTable, text, timestamp, uuid } from "drizzle-orm/pg-core";
import { bytea } from "../identity/schema.ts";

const at = () => timestamp({ withTimezone: true, mode: "date" });

export const projects = pgTable("projects", {
  id: uuid().primaryKey(),
  organizationId: uuid().notNull(),
  name: text().notNull(),
  slug: text().notNull(),
  repo: text(),
  repoCredentials: bytea(),
  defaultBranch: text().notNull().default("main"),
  buildConfig: jsonb().$type<BuildConfig>().notNull().default({}),
  createdAt: at().notNull().defaultNow(),
  updatedAt: at().notNull().defaultNow(),
  deletedAt: at(),
  purgedAt: at(),
});

export const apps = pgTable("apps", {
  id: uuid().primaryKey(),
  organizationId: uuid().notNull(),
  projectId: uuid().notNull(),
  slug: text().notNull(),
  createdAt: at().notNull().defaultNow(),
  deletedAt: at(),
});

export const deployments = pgTable("deployments", {
  id: uuid().primaryKey(),
  organizationId: uuid().notNull(),
  projectId: uuid().notNull(),
  appId: uuid().notNull(),
  position: bigint({ mode: "number" }).generatedAlwaysAsIdentity().notNull(),
  status: text().notNull(),
  phase: text().$type<DeploymentPhase>().notNull(),
  branch: text().notNull(),
  commitSha: text().notNull(),
  resolvedBuildConfig: jsonb().$type<BuildConfig & { repo: string }>(),
  targetHost: jsonb().$type<Record<string, unknown>>(),
  error: text(),
  cancelRequestedAt: at(),
  fence: integer().notNull().default(0),
  createdAt: at().notNull().defaultNow(),
  startedAt: at(),
  finishedAt: at(),
});

export const deploymentEvents = pgTable("deployment_events", {
  id: bigint({ mode: "number" }).primaryKey().generatedAlwaysAsIdentity(),
  deploymentId: uuid().notNull(),
  status: text().notNull(),
  message: text().notNull(),
  createdAt: at().notNull().defaultNow(),
});

export const deploymentLogLines = pgTable("deployment_log_lines", {
  id: bigint({ mode: "number" }).primaryKey().generatedAlwaysAsIdentity(),
  deploymentId: uuid().notNull(),
  component: text().notNull(),
  stream: text().$type<"stdout" | "stderr" | "system">().notNull(),
  at: at().notNull(),
  line: text().notNull(),
});

export type ReleaseState = "starting" | "live" | "draining" | "stopped" | "removed";

export const releases = pgTable("releases", {
  id: uuid().primaryKey(),
  organizationId: uuid().notNull(),
  appId: uuid().notNull(),
  deploymentId: uuid().notNull(),
  component: text().notNull(),
  command: text().notNull(),
  settings: jsonb().$type<BuildSettings>().notNull(),
  env: jsonb().$type<Record<string, string>>().notNull(),
  health: jsonb().$type<HealthSettings>().notNull(),
  sandboxed: boolean().notNull(),
  state: text().$type<ReleaseState>().notNull(),
  pid: integer(),
  startToken: text(),
  port: integer(),
  stdoutOffset: bigint({ mode: "number" }).notNull().default(0),
  stderrOffset: bigint({ mode: "number" }).notNull().default(0),
  restarts: integer().notNull().default(0),
  createdAt: at().notNull().defaultNow(),
  liveAt: at(),
  stoppedAt: at(),
});
export type ReleaseRow = typeof releases.$inferSelect;

export const appDomains = pgTable("app_domains", {
  hostName: text().primaryKey(),
  organizationId: uuid().notNull(),
  appId: uuid().notNull(),
  component: text().notNull(),
  createdAt: at().notNull().defaultNow(),
});
