// Where the running Quayside is and how its first admin signs in, as the scripts beside it find out.
import { existsSync, readFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { parseEnv } from "node:util";

export const ROOT = join(dirname(fileURLToPath(import.meta.url)), "..");

export interface Settings {
  baseUrl: string;
  username: string;
  password: string;
}

/** From the environment, `.env` and the generated secrets, in this order. Throws when no admin is known. */
export function readSettings(): Settings {
  const fileEnv = existsSync(join(ROOT, ".env")) ? parseEnv(readFileSync(join(ROOT, ".env"), "utf8")) : {};
  const env = { ...fileEnv, ...process.env };
  const dataDir = resolve(ROOT, env.DATA_DIR ?? ".quayside");
  const secretsFile = join(dataDir, "secrets.env");
  const secrets = existsSync(secretsFile) ? parseEnv(readFileSync(secretsFile, "utf8")) : {};
  const username = env.BOOTSTRAP_ADMIN_USER ?? secrets.BOOTSTRAP_ADMIN_USER;
  const password = env.BOOTSTRAP_ADMIN_PASSWORD ?? secrets.BOOTSTRAP_ADMIN_PASSWORD;
  const baseUrl = env.BASE_URL ?? `http://localhost:${env.PORT ?? 4000}`;
  if (!username || !password) {
    throw new Error(
      `No admin is known: start Quayside with 'npm start' first, or set BOOTSTRAP_ADMIN_USER and _PASSWORD.`,
    );
  }
  return { baseUrl, username, password };
}
