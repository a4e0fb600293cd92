export { type AuditEntry, recordAudit } from "./audit.ts";
export { actorOf, requireCaller, requireSuperAdmin } from "./authorize.ts";
export { type Broker, type Listener, PostgresBroker, publish } from "./broker.ts";
export { checkDatabase } from "./check-database.ts";
export {
  type Clock,
  type Context,
  type HostContext,
  type Ids,
  type Log,
  type Override,
  type Services,
  systemContext,
} from "./context.ts";
export { openCursor, sealCursor } from "./cursors.ts";
export { isDatabaseBusy, isDatabaseUnavailable } from "./database-errors.ts";
export { withoutBoundValues } from "./error-text.ts";
export { Feeds } from "./feeds.ts";
export { type IdempotentOutcome, runIdempotently } from "./idempotency.ts";
export { isUuid, randomIds } from "./ids.ts";
export { pruneExpired } from "./prune-expired.ts";
export { type RateDecision, RateLimiter } from "./rate-limiter.ts";
export { createSealer, type Sealer } from "./sealer.ts";
