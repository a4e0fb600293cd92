import { z } from "zod";
import { dateTime, plainText, uuid } from "../platform/text.ts";

const relativeFolder = plainText(1, 512).refine(
  (value) => !value.startsWith("/") && !value.split(/[\\/]/).includes(".."),
  "must be a folder inside the repository, without '..'",
);

const shellCommand = plainText(1, 4096).describe("Run by sh -c in the project's root folder.");

const environmentName = z.string().regex(/^[A-Za-z_][A-Za-z0-9_]{0,127}$/, "use letters, digits and '_'");

export const buildConfig = z.strictObject({
  root: relativeFolder.optional().describe("Folder inside the repository that holds the app. Default: its root."),
  build: shellCommand.optional().describe("Default: the build script of package.json, if any."),
  start: shellCommand.optional().describe("Default: the start script of package.json. Must listen on $PORT."),
  healthcheck: plainText(1, 512)
    .regex(/^\/[^\s#]*$/, "must be a path that begins with '/'")
    .nullable()
    .optional()
    .describe("Path that must answer 2xx or 3xx. Default: any answer below 500 on '/'."),
  healthTimeoutMs: z.int().min(1_000).max(600_000).optional().describe("The health gate gives up after this long."),
  env: z
    .record(environmentName, plainText(0, 32_768))
    .optional()
    .describe("Environment of build and app. Not for secrets."),
});
export type BuildConfig = z.infer<typeof buildConfig>;

/** A DNS label, or several joined by nothing: lower-case letters, digits and single hyphens. */
export const projectSlug = z
  .string()
  .min(1)
  .max(255)
  .regex(/^[a-z0-9]+(-[a-z0-9]+)*$/, "use lower-case letters, digits and single hyphens between them");

const writable = {
  repo: plainText(1, 2048).nullable().describe("Any URL that git takes, or an absolute path on the host `local`."),
  defaultBranch: plainText(1, 250),
  buildConfig,
};

export const createProjectInput = z.strictObject({
  name: plainText(1, 255).refine((value) => value.trim() !== "", "must not be blank"),
  slug: z.string().min(1).max(1024).optional().describe("Default: the name, slugified. Made unique by -2, -3, …"),
  repo: writable.repo.optional(),
  defaultBranch: writable.defaultBranch.optional(),
  buildConfig: writable.buildConfig.optional(),
});

export const updateProjectInput = z.strictObject({
  id: uuid,
  name: createProjectInput.shape.name.optional(),
  slug: projectSlug.optional(),
  repo: writable.repo.optional(),
  defaultBranch: writable.defaultBranch.optional(),
  buildConfig: writable.buildConfig.optional(),
});

export const projectRecord = z.object({
  id: z.guid(),
  name: z.string(),
  slug: z.string(),
  repo: z.string().nullable(),
  defaultBranch: z.string(),
  buildConfig,
  appCount: z.int(),
  url: z.string().nullable().describe("Where the project's app answers, once one was deployed."),
  createdAt: dateTime,
  updatedAt: dateTime,
});
export type ProjectRecord = z.infer<typeof projectRecord>;

export const projectIdentifierInput = z.strictObject({ identifier: plainText(1, 255) });
export const projectIdInput = z.strictObject({ id: uuid });
export const listProjectsOutput = z.object({ projects: z.array(projectRecord) });
export const deletedOutput = z.object({ success: z.literal(true) });
