import { existsSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { parseEnv } from "node:util";
import {
  environmentSchema,
  type PlatformConfig,
  PREFIXES_OF_LATER_RELEASES,
  REQUIRED_IN_PRODUCTION,
  VARIABLES_OF_LATER_RELEASES,
} from "@quayside/contracts";
import { blockListOf } from "./block-list.ts";
import { type DevelopmentSecrets, generateDevelopmentSecrets } from "./development-secrets.ts";
import { pickFreePort } from "./free-port.ts";

export interface Configuration {
  config: PlatformConfig;
  /** Absolute; everything that Quayside keeps on disk is below. */
  dataDir: string;
  secretsFile: string | null;
  /** Password of the embedded database's owner. */
  databasePassword: string;
  /** True when the bootstrap password stands in the environment and not in the generated file. */
  bootstrapPasswordSet: boolean;
  sessionSecretGenerated: boolean;
}

/** All that is wrong with the environment, in one message. */
export class ConfigurationError extends Error {
  readonly problems: readonly string[];
  constructor(problems: readonly string[]) {
    super(
      `The configuration has ${problems.length === 1 ? "a fault" : `${problems.length} faults`}:\n${problems.map((line) => `  - ${line}`).join("\n")}`,
    );
    this.name = "ConfigurationError";
    this.problems = problems;
  }
}

/**
 * Reads `.env` in the project root and the process environment, which wins, and validates everything at once. In
 * development missing secrets are generated once and kept; in production nothing is generated.
 */
export async function loadConfiguration(options: {
  projectRoot: string;
  env: Readonly<Record<string, string | undefined>>;
}): Promise<Configuration> {
  const given = { ...readEnvFile(join(options.projectRoot, ".env")), ...withoutEmpty(options.env) };
  const production = given.NODE_ENV === "production";
  const dataDir = resolve(options.projectRoot, given.DATA_DIR ?? ".quayside");
  const { generated, fault } = production ? { generated: null, fault: null } : developmentSecrets(dataDir, given);
  const merged = { ...generated?.values, ...given };
  const parsed = environmentSchema.safeParse(merged);
  const problems = [
    ...(fault === null ? [] : [fault]),
    ...(parsed.success ? [] : parsed.error.issues.map(({ path, message }) => `${String(path[0])}: ${message}`)),
    ...(parsed.success ? badProxyRanges(parsed.data.TRUSTED_PROXIES) : []),
    ...ofLaterReleases(given),
    ...halfSetPairs(given),
    ...(parsed.success ? samePorts(parsed.data) : []),
    ...(production ? missingInProduction(given) : []),
  ];
  if (!parsed.success || problems.length > 0) throw new ConfigurationError(problems);
  const environment = parsed.data;
  const PORT = environment.PORT === 0 ? await pickFreePort(environment.HOST) : environment.PORT;
  const APPS_PORT = environment.APPS_PORT === 0 ? await pickFreePort(environment.APPS_HOST) : environment.APPS_PORT;
  const config = {
    ...environment,
    PORT,
    APPS_PORT,
    BASE_URL: environment.BASE_URL ?? `http://localhost:${PORT}`,
    // The specification wants sessions to end at a restart when no secret is set.
    SESSION_SECRET: environment.SESSION_SECRET ?? randomSecret(),
  } as PlatformConfig;
  return {
    config,
    dataDir,
    secretsFile: generated?.file ?? null,
    databasePassword: generated?.databasePassword ?? "",
    bootstrapPasswordSet: given.BOOTSTRAP_ADMIN_PASSWORD !== undefined,
    sessionSecretGenerated: environment.SESSION_SECRET === undefined,
  };
}

function developmentSecrets(
  dataDir: string,
  given: Record<string, string>,
): { generated: DevelopmentSecrets | null; fault: string | null } {
  try {
    return { generated: generateDevelopmentSecrets(dataDir, given), fault: null };
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    return { generated: null, fault: `DATA_DIR: secrets cannot be kept there: ${reason}` };
  }
}

function randomSecret(): string {
  return crypto.getRandomValues(Buffer.alloc(32)).toString("base64url");
}

function readEnvFile(file: string): Record<string, string> {
  if (!existsSync(file)) return {};
  return withoutEmpty(parseEnv(readFileSync(file, "utf8")));
}

/** `NAME=` in a shell or compose file means "not set". */
function withoutEmpty(env: Readonly<Record<string, string | undefined>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(env).filter((entry): entry is [string, string] => entry[1] !== undefined && entry[1] !== ""),
  );
}

function ofLaterReleases(given: Record<string, string>): string[] {
  const named = new Set<string>(VARIABLES_OF_LATER_RELEASES);
  return Object.keys(given)
    .filter((name) => named.has(name) || PREFIXES_OF_LATER_RELEASES.some((prefix) => name.startsWith(prefix)))
    .map((name) => `${name}: belongs to a feature that this release does not have; unset it`);
}

function badProxyRanges(ranges: readonly string[]): string[] {
  return ranges.flatMap((range) => {
    try {
      blockListOf([range]);
      return [];
    } catch {
      return [`TRUSTED_PROXIES: '${range}' is neither an IP address nor a range such as 10.0.0.0/8`];
    }
  });
}

function samePorts({
  HOST,
  PORT,
  APPS_HOST,
  APPS_PORT,
}: {
  HOST: string;
  PORT: number;
  APPS_HOST: string;
  APPS_PORT: number;
}): string[] {
  if (PORT === 0 || PORT !== APPS_PORT || HOST !== APPS_HOST) return [];
  return [`APPS_PORT: ${APPS_PORT} is the PORT of the API; deployed apps need another one`];
}

const PAIRS = [["BOOTSTRAP_ADMIN_USER", "BOOTSTRAP_ADMIN_PASSWORD"]] as const;

function halfSetPairs(given: Record<string, string>): string[] {
  return PAIRS.flatMap(([one, other]) => {
    if ((given[one] === undefined) === (given[other] === undefined)) return [];
    const [set, missing] = given[one] === undefined ? [other, one] : [one, other];
    return [`${missing}: missing, while ${set} is set; set both or neither`];
  });
}

function missingInProduction(given: Record<string, string>): string[] {
  const missing = REQUIRED_IN_PRODUCTION.filter((name) => given[name] === undefined).map(
    (name) => `${name}: required in production`,
  );
  if (given.DATABASE_URL === undefined) missing.push("DATABASE_URL: required in production");
  return missing;
}
