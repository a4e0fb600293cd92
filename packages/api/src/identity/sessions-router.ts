import { jwtOutput, loginInput, loginOutput, logoutOutput, whoami } from "@quayside/contracts";
import { issueJwt, logIn, logOut, whoAmI } from "@quayside/core";
import { procedure, router } from "../platform/procedure.ts";
import { clearSessionCookie, sessionCookie } from "./session-cookie.ts";

const tags = ["Registry sign-in"];

export const sessionsRouter = router({
  login: procedure
    .meta({
      openapi: {
        method: "POST",
        path: "/-/v1/login",
        tags,
        protect: false,
        summary: "Sign in with a name and password",
        errorResponses: {
          401: "Wrong name or password",
          403: "Password login disabled",
          422: "Invalid input",
          429: "Too many tries",
        },
      },
      rest: { auth: "none", errors: "coded", status: 200, kind: "json" },
    })
    .input(loginInput)
    .output(loginOutput)
    .mutation(async ({ ctx, input }) => {
      const session = await logIn(ctx, input);
      ctx.cookies.push(sessionCookie(session.token, session.expiresAt, ctx.config.BASE_URL));
      return { ...session, expiresAt: session.expiresAt.toISOString() };
    }),

  logout: procedure
    .meta({
      openapi: {
        method: "POST",
        path: "/-/v1/logout",
        tags,
        summary: "Revoke the credential that the request came with",
        errorResponses: { 401: "Not signed in", 403: "Cross-site request" },
      },
      rest: { auth: "caller", errors: "coded", status: 200, kind: "json", scope: "read" },
    })
    .output(logoutOutput)
    .mutation(async ({ ctx }) => {
      const done = await logOut(ctx);
      ctx.cookies.push(clearSessionCookie(ctx.config.BASE_URL));
      return done;
    }),

  whoami: procedure
    .meta({
      openapi: {
        method: "GET",
        path: "/api/v1/whoami",
        tags,
        summary: "Who the caller is and what the credential may do",
        errorResponses: { 401: "Not signed in" },
      },
      rest: { auth: "caller", errors: "coded", status: 200, kind: "json", scope: "read" },
    })
    .output(whoami)
    .query(async ({ ctx }) => {
      const principal = await whoAmI(ctx);
      return { ...principal, scopes: [...principal.scopes], permissions: [...principal.permissions] };
    }),

  issueJwt: procedure
    .meta({ rest: { auth: "caller", errors: "coded", status: 200, kind: "json", scope: "admin" } })
    .output(jwtOutput)
    .mutation(async ({ ctx }) => {
      const { token, expiresAt } = await issueJwt(ctx);
      return { token, expiresAt: expiresAt.toISOString() };
    }),
});
