import type { Principal } from "@quayside/contracts";
import type { Context, RateDecision, Services } from "@quayside/core";

/** What a request brought to prove who it is. Nothing of it was checked yet. */
export interface RequestCredentials {
  /** `Authorization: Bearer …`, `X-API-Key`, or the `token` of WebSocket connection parameters. */
  bearer: string | null;
  /** Cookie `registry_session`. */
  cookie: string | null;
  internalSecret: string | null;
  superAdminToken: string | null;
  /** Header `Idempotency-Key` as it came. */
  idempotencyKey: string | null;
  /** False when a browser says that another site sent it. */
  sameOrigin: boolean;
  /** GET, HEAD, OPTIONS: nothing is changed. */
  safe: boolean;
}

export interface RequestContext extends Context {
  given: RequestCredentials;
  /** Who made the last call, for the log; the calls of a batch or socket share this context. */
  asked: Principal | null;
  /** What the rate limiter said, for the `RateLimit` response fields. */
  rate: (RateDecision & { policy: string }) | null;
  /** Cookies to set, as complete `Set-Cookie` values. */
  cookies: string[];
  /** The door has let the request in already; a tRPC batch passes it once a call. */
  admitted: boolean;
  /** Resolves when the caller has taken enough of what a stream said; HTTP sees to that by itself. */
  untilWritable(): Promise<void>;
  /** The answer is that of an earlier request with the same `Idempotency-Key`. */
  replayed: boolean;
  /** HTTP status in place of the route's own, as for a health check that found a fault. */
  status: number | null;
}

export interface RequestFacts {
  requestId: string;
  ip: string | null;
  given: RequestCredentials;
}

export function createRequestContext(services: Services, facts: RequestFacts): RequestContext {
  return {
    ...services,
    principal: null,
    override: null,
    requestId: facts.requestId,
    ip: facts.ip,
    given: facts.given,
    asked: null,
    rate: null,
    cookies: [],
    admitted: false,
    untilWritable: () => Promise.resolve(),
    replayed: false,
    status: null,
  };
}
