import { z } from "zod";
import { dateTime, plainText, uuid } from "../platform/text.ts";

/** What the deployment engine is doing with a deployment. The public `status` may differ after a PATCH. */
export const deploymentPhase = z.enum([
  "queued",
  "building",
  "deploying",
  "deployed",
  "failed",
  "cancelled",
  "superseded",
]);
export type DeploymentPhase = z.infer<typeof deploymentPhase>;

export const componentName = z
  .string()
  .max(63)
  .regex(/^[a-z0-9][a-z0-9-]*$/, "must match ^[a-z0-9][a-z0-9-]*$");

export const commitSha = z
  .string()
  .regex(/^[0-9a-fA-F]{7,64}$/, "must be a commit id of 7 to 64 hex digits")
  .transform((value) => value.toLowerCase());

const hostWord = plainText(1, 255).regex(/^[^-\s][^\s]*$/, "must not contain spaces or begin with '-'");

export const targetHost = z.strictObject({
  id: uuid.optional(),
  slug: hostWord.optional(),
  sshHost: hostWord,
  sshUser: hostWord,
});

export const createDeploymentInput = z.strictObject({
  projectId: uuid,
  branch: plainText(1, 250),
  commitSha,
  targetHost: targetHost.optional(),
});

export const deploymentRecord = z.object({
  id: z.guid(),
  projectId: z.guid(),
  status: z.string(),
  branch: z.string(),
  commitSha: z.string(),
  resolvedBuildConfig: z.looseObject({ repo: z.string() }).nullable(),
  error: z.string().nullable().describe("Why the deployment failed."),
  url: z.string().nullable().describe("Where the app answers."),
  createdAt: dateTime,
  startedAt: dateTime.nullable(),
  finishedAt: dateTime.nullable(),
});
export type DeploymentRecord = z.infer<typeof deploymentRecord>;

export const listDeploymentsInput = z.strictObject({
  projectId: uuid.optional(),
  limit: z.int().min(1).max(200).default(50).describe("Newest first."),
});
export const deploymentIdInput = z.strictObject({ id: uuid });
export const updateDeploymentInput = z.strictObject({ id: uuid, status: plainText(1, 64) });

/** Id of the last event that was seen; the stream goes on after it. */
const eventId = z.string().regex(/^\d{1,18}$/, "must be the id of an event of this stream");

export const streamInput = z.strictObject({ id: uuid, lastEventId: eventId.optional() });

export const deploymentUpdate = z.object({ status: z.string(), message: z.string() });

export const logsInput = z.strictObject({
  id: uuid,
  component: componentName.optional(),
  since: z.string().max(64).default("10m").describe("90s, 10m, 2h, 1d, or an RFC 3339 date-time."),
  follow: z.enum(["0", "1"]).default("0"),
  lastEventId: eventId.optional(),
});

export const logEntry = z.object({
  at: dateTime,
  component: z.string(),
  stream: z.enum(["stdout", "stderr", "system"]),
  line: z.string(),
});
export type LogEntry = z.infer<typeof logEntry>;
