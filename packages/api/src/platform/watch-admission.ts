import { PlatformError } from "@quayside/contracts";
import { resolvePrincipal } from "@quayside/core";
import type { RequestContext } from "./request-context.ts";

const CHECK_INTERVAL_MS = 500;

export interface Admission {
  /** Aborts when the client leaves, or when its credential no longer holds. */
  signal: AbortSignal;
  /** Throws what ended the credential, when that is why the stream ended. */
  rethrow(): void;
  end(): void;
}

/** A stream outlives the request that opened it, but not the credential: it is looked at again twice a second. */
export function watchAdmission(ctx: RequestContext, leaving: AbortSignal): Admission {
  const abort = new AbortController();
  const credential = ctx.given.bearer ?? ctx.given.cookie;
  let refusal: PlatformError | null = null;
  const end = () => {
    clearInterval(timer);
    leaving.removeEventListener("abort", end);
    abort.abort();
  };
  const check = () => {
    if (credential === null) return;
    resolvePrincipal(ctx, credential).catch((error: unknown) => {
      // While the database is away nobody can be refused.
      if (!(error instanceof PlatformError)) return;
      refusal = error;
      end();
    });
  };
  const timer = setInterval(check, CHECK_INTERVAL_MS);
  timer.unref();
  leaving.addEventListener("abort", end, { once: true });
  if (leaving.aborted) end();
  return {
    signal: abort.signal,
    rethrow: () => {
      if (refusal) throw refusal;
    },
    end,
  };
}
