import { z } from "zod";
import { password, userName } from "../identity/login.ts";

/**
 * Every environment variable, with its rule and its meaning. The server reads it once at start; `docs/operations.md`
 * is generated from it.
 */
const wholeNumber = (minimum: number, maximum: number) =>
  z
    .string()
    .regex(/^\d{1,12}$/, "must be a whole number")
    .transform(Number)
    .pipe(z.number().min(minimum).max(maximum));

const flag = z.enum(["true", "false"]).transform((value) => value === "true");
const secret = z.string().min(16, "must have at least 16 characters").max(1024);
const httpUrl = z
  .url({ protocol: /^https?$/, error: "must be an http:// or https:// URL" })
  .transform((value) => value.replace(/\/+$/, ""));
const postgresUrl = z.url({ protocol: /^postgres(ql)?$/, error: "must be a postgres:// URL" });
const list = z.string().transform((value) =>
  value
    .split(",")
    .map((item) => item.trim())
    .filter((item) => item !== ""),
);
const encryptionKey = z
  .string()
  .refine((value) => /^[A-Za-z0-9+/]{43}=$/.test(value), "must be 32 bytes in base64 (44 characters)");
const perMinute = wholeNumber(1, 1_000_000);

export const AREAS = ["crm", "registry", "hosting", "webhooks"] as const;
export type Area = (typeof AREAS)[number];
const areas = list.pipe(z.array(z.enum(AREAS)).min(1));

export const environmentSchema = z.object({
  NODE_ENV: z
    .enum(["development", "production", "test"])
    .default("development")
    .describe("`production` refuses to start without the secrets that guard a door and generates nothing."),
  HOST: z.string().min(1).default("127.0.0.1").describe("Address to listen on."),
  PORT: wholeNumber(0, 65_535).default(4000).describe("Port to listen on; 0 takes a free one."),
  BASE_URL: httpUrl.optional().describe("Public address. Unset: `http://localhost:<PORT>`."),
  DATABASE_URL: postgresUrl
    .optional()
    .describe("PostgreSQL 14 or later. Unset: an embedded PostgreSQL under `DATA_DIR`."),
  DATABASE_POOL_SIZE: wholeNumber(2, 200).default(10).describe("Connections of the request pool of each process."),
  DATA_DIR: z
    .string()
    .min(1)
    .default(".quayside")
    .describe(
      "Folder of the embedded database, artifacts, releases and generated secrets, relative to the project root.",
    ),
  PLATFORM_AREAS: areas.default([...AREAS]).describe("Areas that this process serves, separated by commas."),
  LOG_LEVEL: z
    .enum(["trace", "debug", "info", "warn", "error", "silent"])
    .default("info")
    .describe("Least level logged."),
  CORS_ALLOWED_ORIGINS: list
    .pipe(z.array(z.url({ protocol: /^https?$/ })))
    .default([])
    .describe(
      "Web origins whose pages may call the API with a bearer credential, separated by commas. Off by default.",
    ),
  TRUSTED_PROXIES: list
    .default([])
    .describe("Addresses or CIDR ranges of reverse proxies whose `X-Forwarded-For` is believed, separated by commas."),
  JWT_SECRET: secret.optional().describe("Signs JWTs (HS256). Required in production."),
  SESSION_SECRET: secret.optional().describe("Signs sessions. Unset: random at every boot, which signs everybody out."),
  INTERNAL_API_SECRET: secret.optional().describe("Value of the header `X-Internal-Secret`. Required in production."),
  SUPER_ADMIN_TOKEN: secret.optional().describe("Value of the header `X-Super-Admin-Token`. Required in production."),
  ENCRYPTION_KEY: encryptionKey
    .optional()
    .describe("32 bytes in base64. Seals stored secrets (AES-256-GCM). Required in production."),
  GATEWAY_SECRET: secret.optional().describe("Bearer of `/v1/crm/internal/api-usage*`. Unset: 503 there."),
  ENTITLEMENTS_SECRET: secret
    .optional()
    .describe("Header `X-Internal-Secret` of `/v1/crm/internal/entitlements`. Unset: 503 there."),
  PAYMENT_WEBHOOK_SECRET: secret
    .optional()
    .describe("Signing secret of `/v1/crm/internal/payments`. Unset: 503 there."),
  BOOTSTRAP_ADMIN_USER: userName.optional().describe("Login name of the first super admin. Needs the password too."),
  BOOTSTRAP_ADMIN_PASSWORD: password
    .optional()
    .describe("Password of the first super admin. Remove it after the first boot."),
  BOOTSTRAP_GRANT_SUPER_ADMIN: flag.default(false).describe("`true` lets the first boot create the bootstrap admin."),
  REGISTRY_AUTH_MODE: z
    .enum(["standalone", "sso", "hybrid"])
    .default("hybrid")
    .describe("`standalone`: passwords only. `sso`: password login is refused. `hybrid`: both."),
  RATE_LIMIT_LOGIN_PER_MINUTE: perMinute.default(10).describe("Logins a minute from one address."),
  RATE_LIMIT_KEY_READ_PER_MINUTE: perMinute.default(600).describe("Reading requests a minute of one API key."),
  RATE_LIMIT_KEY_WRITE_PER_MINUTE: perMinute.default(300).describe("Writing requests a minute of one API key."),
  RATE_LIMIT_KEY_ADMIN_PER_MINUTE: perMinute.default(60).describe("Key-management requests a minute of one API key."),
  APPS_HOST: z
    .string()
    .min(1)
    .default("127.0.0.1")
    .describe("Address that the reverse proxy of deployed apps listens on."),
  APPS_PORT: wholeNumber(0, 65_535)
    .default(4080)
    .describe("Port of the reverse proxy of deployed apps; 0 takes a free one."),
  APPS_DOMAIN: z
    .string()
    .regex(/^[a-z0-9.-]+$/, "must be a host name")
    .default("localhost")
    .describe("Apps answer at `<slug>.<APPS_DOMAIN>`."),
  APPS_ON_STOP: z
    .enum(["keep", "stop"])
    .optional()
    .describe(
      "What happens to deployed apps when Quayside is stopped. Unset: `stop` in development, `keep` in production.",
    ),
  GIT_LOCAL_ROOTS: list
    .optional()
    .describe("Folders whose git repositories may be deployed by path. Unset: any in development, none in production."),
  GIT_ALLOW_PRIVATE_NETWORKS: flag
    .optional()
    .describe("Fetch from private and loopback addresses. Unset: `true` in development, `false` in production."),
  HEALTH_TIMEOUT_MS: wholeNumber(1_000, 600_000).default(30_000).describe("A health gate gives up after this long."),
  BUILD_TIMEOUT_MS: wholeNumber(1_000, 7_200_000).default(600_000).describe("A build is ended after this long."),
  DRAIN_TIMEOUT_MS: wholeNumber(0, 600_000)
    .default(30_000)
    .describe("Open requests of an old release get this long to finish."),
  LOG_RETENTION_DAYS: wholeNumber(1, 3_650).default(14).describe("Captured log lines are kept this long."),
  USAGE_RETENTION_DAYS: wholeNumber(365, 3_650)
    .default(400)
    .describe("Usage of API keys is kept this long by day, and for at most 90 days by hour."),
  WEBHOOK_ALLOW_PRIVATE_NETWORKS: flag
    .optional()
    .describe(
      "Deliver webhooks to private and loopback addresses. Unset: `true` in development, `false` in production.",
    ),
  WEBHOOK_ALLOW_HTTP: flag
    .optional()
    .describe("Deliver webhooks to http:// URLs. Unset: `true` in development, `false` in production."),
  WEBHOOK_RETRY_BASE_MS: wholeNumber(1, 3_600_000)
    .default(5_000)
    .describe("Delay before the first retry of a webhook; each further one is four times as long."),
  WEBHOOK_TIMEOUT_MS: wholeNumber(100, 120_000)
    .default(15_000)
    .describe("A webhook request has this long from the look-up of its host to the last byte of the answer."),
  WORKER_CONCURRENCY: wholeNumber(1, 200).default(8).describe("Jobs that one worker process runs at once."),
});

/** Variables of features that this release does not have. Setting one is a fault: it would do nothing. */
export const VARIABLES_OF_LATER_RELEASES = [
  "REDIS_URL",
  "ARTIFACT_STORE",
  "TENANT_DATABASE_URL",
  "POOLER_URL",
  "NPM_UPSTREAM_URL",
  "DEPLOY_SSH_HOST",
  "RATE_LIMIT_RESETS_PER_DAY",
  "RATE_LIMIT_DEVICE_PER_MINUTE",
  "RATE_LIMIT_PUBLISH_PER_MINUTE",
  "RATE_LIMIT_ADMIN_PER_MINUTE",
  "RATE_LIMIT_SEARCH_PER_MINUTE",
] as const;

export const PREFIXES_OF_LATER_RELEASES = ["OAUTH_", "SSO_AUTH_"] as const;

export type Environment = z.output<typeof environmentSchema>;
export type EnvironmentName = keyof Environment;

/** What production cannot do without. */
export const REQUIRED_IN_PRODUCTION = [
  "JWT_SECRET",
  "INTERNAL_API_SECRET",
  "SUPER_ADMIN_TOKEN",
  "ENCRYPTION_KEY",
] as const satisfies readonly EnvironmentName[];

type Resolved =
  | "BASE_URL"
  | "JWT_SECRET"
  | "SESSION_SECRET"
  | "INTERNAL_API_SECRET"
  | "SUPER_ADMIN_TOKEN"
  | "ENCRYPTION_KEY";

/** The environment after defaults and generated secrets: what every other package is given. */
export type PlatformConfig = Readonly<Environment & { [K in Resolved]: NonNullable<Environment[K]> }>;
