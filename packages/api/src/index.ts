export { type AppRouter, appRouter } from "./app-router.ts";
export { SESSION_COOKIE } from "./identity/session-cookie.ts";
export { admit } from "./platform/authenticate.ts";
export { type PublicError, toPublicError } from "./platform/errors.ts";
export { prototypeKey, refusePrototypeKeys } from "./platform/prototype-keys.ts";
export {
  createRequestContext,
  type RequestContext,
  type RequestCredentials,
  type RequestFacts,
} from "./platform/request-context.ts";
export { readRequestFacts } from "./transport/request-facts.ts";
export { createTrpcHttpHandler } from "./transport/trpc-http.ts";
export { attachTrpcWebSocket } from "./transport/trpc-websocket.ts";
