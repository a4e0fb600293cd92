import { z } from "zod";
import { apiScope } from "../platform/principal.ts";
import { dateTime, uuid, visibleName } from "../platform/text.ts";

export const keyEnvironment = z.enum(["live", "test", "dev"]);
export type KeyEnvironment = z.infer<typeof keyEnvironment>;

export const plan = z.enum(["free", "starter", "pro", "team", "enterprise"]);
export type Plan = z.infer<typeof plan>;

const toolPattern = z
  .string()
  .max(200)
  .regex(
    /^(\*|[a-z][a-z0-9_]*(\.[a-z][a-z0-9_]*)*(\.\*)?)$/,
    "use '*', or dot-separated lower-case segments such as 'crm.people' with an optional '.*' at the end",
  );

const ratePerMinute = z.int().positive().max(1_000_000_000);

export const rateLimitOverride = z
  .strictObject({ read: ratePerMinute, write: ratePerMinute, admin: ratePerMinute })
  .partial();

export const createApiKeyInput = z.strictObject({
  name: visibleName(120),
  environment: keyEnvironment,
  scopes: z.array(apiScope).min(1).max(3),
  expiresAt: dateTime.optional().describe("After this moment the key is refused. Must be in the future."),
  rateLimitOverride: rateLimitOverride.optional().describe("Requests a minute by scope, in place of the defaults."),
  toolAllowlist: z.array(toolPattern).max(100).optional(),
  tenantId: uuid.optional().describe("Organization that the key acts for; the caller must be a member."),
});

export const apiKeyRecord = z.object({
  id: z.guid(),
  name: z.string(),
  environment: keyEnvironment,
  scopes: z.array(apiScope),
  prefix: z.string().describe("First characters of the key, to recognise it by."),
  expiresAt: dateTime.nullable(),
  rateLimitOverride: z.record(z.string(), z.number()).nullable(),
  toolAllowlist: z.array(z.string()).nullable(),
  tenantId: z.guid().nullable(),
  createdAt: dateTime,
  lastUsedAt: dateTime.nullable(),
  revokedAt: dateTime.nullable(),
  status: z.enum(["active", "revoked", "expired"]),
});
export type ApiKeyRecord = z.infer<typeof apiKeyRecord>;

export const createApiKeyOutput = z.object({
  key: apiKeyRecord,
  secret: z.string().describe("The key itself. It is shown here once and never again."),
});
export const listApiKeysOutput = z.object({ keys: z.array(apiKeyRecord) });
export const apiKeyIdInput = z.strictObject({ id: uuid });

export const rotateApiKeyInput = z.strictObject({
  id: uuid,
  graceSeconds: z
    .int()
    .min(0)
    .max(604_800)
    .default(86_400)
    .describe("How long the old key goes on, but never beyond its own expiry."),
});
export const rotateApiKeyOutput = z.object({
  key: apiKeyRecord,
  secret: z.string().describe("The new key itself. It is shown here once and never again."),
  previous: apiKeyRecord,
});

export const apiKeyUsageInput = z.strictObject({ id: uuid, days: z.int().min(1).max(365).default(30) });
export const apiKeyUsageOutput = z.object({
  keyId: z.guid(),
  days: z.int(),
  usage: z.array(z.object({ day: z.string(), requests: z.int(), errors: z.int() })),
});

export const verifyApiKeyInput = z.strictObject({ key: z.string().min(1).max(256) });
export const verifyApiKeyOutput = z.object({
  userId: z.guid(),
  apiKeyId: z.guid(),
  scopes: z.array(apiScope),
  environment: keyEnvironment,
  plan,
  entitledUntil: dateTime.nullable(),
  toolAllowlist: z.array(z.string()).nullable(),
  tenantId: z.guid().nullable(),
  rateLimitOverride: z.record(z.string(), z.number()).nullable(),
});
export type VerifiedApiKey = z.infer<typeof verifyApiKeyOutput>;
