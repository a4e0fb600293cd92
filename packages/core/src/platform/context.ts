import type { PlatformConfig, Principal, Runtime } from "@quayside/contracts";
import type { Database, DatabasePool } from "@quayside/db";
import type { CredentialCache } from "../identity/credentials/credential-cache.ts";
import type { KeyUse } from "../identity/credentials/key-use.ts";
import type { Broker } from "./broker.ts";
import type { Feeds } from "./feeds.ts";
import type { RateLimiter } from "./rate-limiter.ts";
import type { Sealer } from "./sealer.ts";

/** The log as verbs see it; pino fits. */
export interface Log {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

/** Wall-clock time; tests hand in their own. */
export interface Clock {
  now(): Date;
}

/** Makes ids: UUID version 7 (RFC 9562), so that ids sort by time. */
export interface Ids {
  uuid(): string;
}

/** What one process has once, for all its requests and jobs. */
export interface Services {
  db: DatabasePool;
  config: PlatformConfig;
  version: string;
  clock: Clock;
  ids: Ids;
  log: Log;
  broker: Broker;
  feeds: Feeds;
  limiter: RateLimiter;
  credentials: CredentialCache;
  keyUse: KeyUse;
  sealer: Sealer;
  /** Says why a repository address is refused, or null. */
  explainRefusedRepo(repo: string): string | null;
  explainRefusedBranch(branch: string): string | null;
}

/** Who acts without being a user: the holder of a door's secret, or the platform itself. */
export type Override = "internal" | "super" | "gateway" | "entitlements" | "system";

/** What a verb is given: the services, and who asks. */
export interface Context extends Omit<Services, "db"> {
  db: Database;
  /** Null: nobody signed in, or a job. */
  principal: Principal | null;
  /** Set when a request came with the secret of one door, or when the platform itself acts. */
  override: Override | null;
  requestId: string;
  /** Client address, or null for jobs. */
  ip: string | null;
}

/** A context of the process that owns this machine's releases. */
export interface HostContext extends Context {
  runtime: Runtime;
}

/** The context in which the platform acts by itself: jobs, start-up, the host agent. */
export function systemContext(services: Services, requestId: string): Context {
  return { ...services, principal: null, override: "system", requestId, ip: null };
}
