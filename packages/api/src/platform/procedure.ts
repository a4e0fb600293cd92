import { areaOfPath, ERROR_KINDS, PlatformError, type ProcedureMeta } from "@quayside/contracts";
import { initTRPC, TRPCError } from "@trpc/server";
import { admit } from "./authenticate.ts";
import { toPublicError } from "./errors.ts";
import { refusePrototypeKeys } from "./prototype-keys.ts";
import type { RequestContext } from "./request-context.ts";

const PING_INTERVAL_MS = 15_000;
const RECONNECT_AFTER_MS = 45_000;

const t = initTRPC
  .context<RequestContext>()
  .meta<ProcedureMeta>()
  .create({
    isDev: false,
    sse: {
      ping: { enabled: true, intervalMs: PING_INTERVAL_MS },
      client: { reconnectAfterInactivityMs: RECONNECT_AFTER_MS },
    },
    errorFormatter({ shape, error, ctx }) {
      const told = toPublicError(error);
      return {
        ...shape,
        message: told.message,
        data: {
          code: shape.data.code,
          httpStatus: told.status,
          errorCode: told.code,
          requestId: ctx?.requestId ?? null,
          issues: told.issues ?? null,
          allowed: told.allowed ?? null,
          retryAfterMs: told.retryAfterMs ?? null,
        },
      };
    },
  });

/** Every procedure passes here: who asks, at what rate; and what goes wrong gets its public form. */
const guard = t.middleware(async ({ ctx, meta, next, getRawInput }) => {
  const rest = meta?.rest;
  if (!rest) throw new Error("A procedure without REST meta has no rule of access.");
  // The calls of a batch or of a socket share one context, so who asks is found out anew for each of them: none lends
  // its authority to another, and a credential that is revoked ends with the next call. REST has admitted its one call.
  const own = ctx.admitted ? ctx : { ...ctx };
  try {
    refuseOtherArea(own, meta.openapi?.path);
    await admit(own, rest);
    ctx.asked = own.principal;
    refusePrototypeKeys(await getRawInput());
  } catch (error) {
    throw asTrpcError(error);
  }
  // Handed a context, tRPC makes a copy of it; what a REST call leaves in its own, such as a status, must be found there.
  const result = await (own === ctx ? next() : next({ ctx: own }));
  if (!result.ok) throw asTrpcError(result.error);
  return result;
});

/** A process that serves some areas only does not serve the others over tRPC either. */
function refuseOtherArea(ctx: RequestContext, path: string | undefined): void {
  if (path === undefined || ctx.config.PLATFORM_AREAS.includes(areaOfPath(path))) return;
  throw new PlatformError("not_found", `This process does not serve the area '${areaOfPath(path)}'.`);
}

/** Gives an error the tRPC code of its kind and keeps it as the cause. */
function asTrpcError(error: unknown): TRPCError {
  const told = toPublicError(error);
  if (error instanceof TRPCError && told.unexpected) return error;
  const cause = error instanceof TRPCError ? (error.cause ?? error) : error;
  return new TRPCError({ code: ERROR_KINDS[told.code].trpc, message: told.message, cause });
}

export const router = t.router;
export const procedure = t.procedure.use(guard);
