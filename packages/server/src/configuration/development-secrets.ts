import { randomBytes } from "node:crypto";
import { chmodSync, existsSync, linkSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseEnv } from "node:util";

export interface DevelopmentSecrets {
  file: string;
  values: Record<string, string>;
  databasePassword: string;
}

const DATABASE_PASSWORD = "QUAYSIDE_DATABASE_PASSWORD";
const FILE_MODE = 0o600;
/** The database's own user must be able to pass through. */
const FOLDER_MODE = 0o711;

const GENERATED: Readonly<Record<string, () => string>> = {
  [DATABASE_PASSWORD]: () => randomBytes(24).toString("hex"),
  JWT_SECRET: token,
  INTERNAL_API_SECRET: token,
  SUPER_ADMIN_TOKEN: token,
  ENCRYPTION_KEY: () => randomBytes(32).toString("base64"),
  BOOTSTRAP_ADMIN_USER: () => "admin",
  BOOTSTRAP_ADMIN_PASSWORD: () => randomBytes(15).toString("base64url"),
  BOOTSTRAP_GRANT_SUPER_ADMIN: () => "true",
};

const BOOTSTRAP = ["BOOTSTRAP_ADMIN_USER", "BOOTSTRAP_ADMIN_PASSWORD", "BOOTSTRAP_GRANT_SUPER_ADMIN"];

/**
 * Secrets for development, made once and kept in `DATA_DIR/secrets.env` (mode 0600). What the environment sets is
 * neither generated nor stored. A bootstrap admin is generated only when the environment names none.
 */
export function generateDevelopmentSecrets(
  dataDir: string,
  given: Readonly<Record<string, string>>,
): DevelopmentSecrets {
  const file = join(dataDir, "secrets.env");
  const exists = existsSync(file);
  const stored = exists ? (parseEnv(readFileSync(file, "utf8")) as Record<string, string>) : {};
  const ownBootstrap = BOOTSTRAP.some((name) => given[name] !== undefined);
  const values = { ...stored };
  for (const [name, generate] of Object.entries(GENERATED)) {
    if (given[name] !== undefined || (ownBootstrap && BOOTSTRAP.includes(name))) continue;
    values[name] ??= generate();
  }
  const grown = Object.keys(values).some((name) => stored[name] === undefined);
  // Processes may start at once; the first one's secrets are everybody's.
  if (grown && !write(dataDir, file, values, exists)) return generateDevelopmentSecrets(dataDir, given);
  if (ownBootstrap) for (const name of BOOTSTRAP) delete values[name];
  const { [DATABASE_PASSWORD]: databasePassword = "", ...rest } = values;
  return { file, values: rest, databasePassword };
}

/** False when another process made the file in the meantime. */
function write(dataDir: string, file: string, values: Record<string, string>, replace: boolean): boolean {
  mkdirSync(dataDir, { recursive: true, mode: FOLDER_MODE });
  chmodSync(dataDir, FOLDER_MODE);
  const lines = Object.entries(values).map(([name, value]) => `${name}=${value}\n`);
  const temporary = `${file}.${process.pid}.tmp`;
  writeFileSync(temporary, `# Made by Quayside for development. Keep it private.\n${lines.join("")}`, {
    mode: FILE_MODE,
  });
  if (replace) {
    renameSync(temporary, file);
    return true;
  }
  try {
    linkSync(temporary, file);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    return false;
  } finally {
    rmSync(temporary, { force: true });
  }
}

function token(): string {
  return randomBytes(32).toString("base64url");
}
