import { environmentSchema, type PlatformConfig } from "@quayside/contracts";
import {
  type Context,
  CredentialCache,
  createSealer,
  Feeds,
  KeyUse,
  type Log,
  PostgresBroker,
  RateLimiter,
  randomIds,
  type Services,
  systemContext,
} from "@quayside/core";
import { openDatabase } from "@quayside/db";
import { createTestDatabase } from "./database.ts";

export const quietLog: Log = { debug() {}, info() {}, warn() {}, error() {} };

/** A clock that stands still until it is told to go on. */
export class ManualClock {
  #nowMs: number;
  constructor(start = "2026-01-01T00:00:00.000Z") {
    this.#nowMs = Date.parse(start);
  }
  now(): Date {
    return new Date(this.#nowMs);
  }
  advance(ms: number): void {
    this.#nowMs += ms;
  }
}

export interface TestServices {
  services: Services;
  /** The platform itself. */
  system: Context;
  clock: ManualClock;
  url: string;
  close(): Promise<void>;
}

/** What one process has, on a database of its own or on the given one, with a clock that stands still. */
export async function openTestServices(
  options: { url?: string; env?: Record<string, string> } = {},
): Promise<TestServices> {
  const own = options.url === undefined ? await createTestDatabase() : null;
  const url = options.url ?? own?.url ?? "";
  const clock = new ManualClock();
  const db = openDatabase(url, { poolSize: 5, applicationName: "quayside-test" });
  const broker = await PostgresBroker.open(url, quietLog);
  const limiter = new RateLimiter(db, clock, quietLog);
  const keyUse = new KeyUse(db, clock, quietLog);
  const credentials = await CredentialCache.open(broker);
  const services: Services = {
    db,
    config: testConfig(options.env),
    version: "0.0.0-test",
    clock,
    ids: randomIds,
    log: quietLog,
    broker,
    feeds: new Feeds(broker),
    limiter,
    credentials,
    keyUse,
    sealer: createSealer([Buffer.alloc(32, 7)]),
    explainRefusedRepo: () => null,
    explainRefusedBranch: () => null,
  };
  return {
    services,
    system: systemContext(services, "test"),
    clock,
    url,
    async close() {
      credentials.close();
      await keyUse.close();
      await limiter.close();
      await broker.close();
      await db.close();
      await own?.drop();
    },
  };
}

function testConfig(env: Record<string, string> = {}): PlatformConfig {
  return environmentSchema.parse({
    BASE_URL: "http://quayside.test",
    JWT_SECRET: "jwt-secret-for-tests-only-000000",
    SESSION_SECRET: "session-secret-for-tests-only-00",
    INTERNAL_API_SECRET: "internal-secret-for-tests-only-0",
    SUPER_ADMIN_TOKEN: "super-admin-token-for-tests-only",
    ENCRYPTION_KEY: Buffer.alloc(32, 7).toString("base64"),
    ...env,
  }) as PlatformConfig;
}
