import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { loadConfiguration, startQuayside } from "@quayside/server";
import pino from "pino";
import { createTestDatabase } from "./database.ts";

export const ADMIN = { username: "admin", password: "correct horse battery" };
export const SECRETS = {
  JWT_SECRET: "jwt-secret-for-tests-only-000000",
  SESSION_SECRET: "session-secret-for-tests-only-00",
  INTERNAL_API_SECRET: "internal-secret-for-tests-only-0",
  SUPER_ADMIN_TOKEN: "super-admin-token-for-tests-only",
  ENCRYPTION_KEY: Buffer.alloc(32, 7).toString("base64"),
};

export interface TestQuayside {
  baseUrl: string;
  databaseUrl: string;
  dataDir: string;
  appsPort: number;
  /** A session of the bootstrap admin. */
  adminToken: string;
  /** JSON in, JSON out. */
  call(method: string, path: string, options?: CallOptions): Promise<Reply>;
  /** A new user with a personal organization, signed in. */
  signUp(name: string): Promise<{ token: string; userId: number }>;
  /** An API key of the bearer of `token`. */
  makeKey(token: string, fields?: Record<string, unknown>): Promise<{ id: string; secret: string }>;
  stop(): Promise<void>;
}

export interface CallOptions {
  token?: string;
  body?: unknown;
  /** Sent as it is, in place of `body`. */
  rawBody?: string;
  headers?: Record<string, string>;
}

export interface Reply {
  status: number;
  headers: Headers;
  // Tests reach into whatever came back.
  // biome-ignore lint/suspicious/noExplicitAny: the shape is what the test asserts
  body: any;
  text: string;
}

/** A whole Quayside in this process: its own database, ports and folder. Stop it in `afterAll`. */
export async function startTestQuayside(
  env: Record<string, string> = {},
  role: "all" | "api" = "all",
): Promise<TestQuayside> {
  const database = await createTestDatabase();
  const dataDir = await mkdtemp(join(tmpdir(), "quayside-test-"));
  const configuration = await loadConfiguration({
    projectRoot: dataDir,
    env: {
      DATABASE_URL: database.url,
      DATA_DIR: dataDir,
      PORT: "0",
      APPS_PORT: "0",
      LOG_LEVEL: "silent",
      ...SECRETS,
      BOOTSTRAP_ADMIN_USER: ADMIN.username,
      BOOTSTRAP_ADMIN_PASSWORD: ADMIN.password,
      BOOTSTRAP_GRANT_SUPER_ADMIN: "true",
      RATE_LIMIT_LOGIN_PER_MINUTE: "1000",
      DRAIN_TIMEOUT_MS: "2000",
      HEALTH_TIMEOUT_MS: "8000",
      ...env,
    },
  });
  const { config } = configuration;
  const log = pino({ level: config.LOG_LEVEL });
  const quayside = await startQuayside(configuration, role, { log, requestLog: log }, "0.0.0-test");
  const baseUrl = `http://127.0.0.1:${quayside.port}`;
  const call = (method: string, path: string, options: CallOptions = {}) => callJson(baseUrl, method, path, options);
  const signIn = async (username: string, password: string) => {
    const reply = await call("POST", "/-/v1/login", { body: { username, password } });
    if (reply.status !== 200) throw new Error(`Sign-in of ${username} failed: ${reply.status} ${reply.text}`);
    return reply.body.token as string;
  };
  const adminToken = await signIn(ADMIN.username, ADMIN.password);
  return {
    baseUrl,
    databaseUrl: database.url,
    dataDir,
    appsPort: config.APPS_PORT,
    adminToken,
    call,
    async signUp(name) {
      const created = await call("POST", "/api/v1/admin/users", {
        headers: { "x-super-admin-token": SECRETS.SUPER_ADMIN_TOKEN },
        body: { name, password: ADMIN.password },
      });
      if (created.status !== 201) throw new Error(`User ${name} was not created: ${created.text}`);
      return { token: await signIn(name, ADMIN.password), userId: created.body.id };
    },
    async makeKey(token, fields = {}) {
      const body = { name: "test key", environment: "test", scopes: ["read", "write"], ...fields };
      const reply = await call("POST", "/v1/crm/api-keys", { token, body });
      if (reply.status !== 201) throw new Error(`The key was not created: ${reply.text}`);
      return { id: reply.body.key.id, secret: reply.body.secret };
    },
    async stop() {
      await quayside.stop();
      await database.drop();
      await rm(dataDir, { recursive: true, force: true });
    },
  };
}

/** One request; JSON answers are parsed. */
export async function callJson(baseUrl: string, method: string, path: string, options: CallOptions): Promise<Reply> {
  const body = options.rawBody ?? (options.body === undefined ? undefined : JSON.stringify(options.body));
  const response = await fetch(baseUrl + path, {
    method,
    redirect: "manual",
    headers: {
      ...(body === undefined ? {} : { "content-type": "application/json" }),
      ...(options.token === undefined ? {} : { authorization: `Bearer ${options.token}` }),
      ...options.headers,
    },
    ...(body === undefined ? {} : { body }),
  });
  const text = await response.text();
  const json = response.headers.get("content-type")?.includes("json") ?? false;
  return {
    status: response.status,
    headers: response.headers,
    text,
    body: json && text !== "" ? JSON.parse(text) : null,
  };
}
