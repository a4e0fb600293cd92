import { createRequire } from "node:module";
import { dirname } from "node:path";
import express, { type Router } from "express";
import helmet from "helmet";
import type { RouteTable } from "../dispatch/route-table.ts";
import { docsPage, docsScript, problemIndexPage, problemPage } from "./pages.ts";

/** `/openapi.json`, the browsable `/docs` (all of it served from here) and a page for every problem code. */
export function createDocsRouter(table: RouteTable, about: { baseUrl: string; version: string }): Router {
  const router = express.Router({ caseSensitive: true });
  const https = about.baseUrl.startsWith("https:");
  router.use(
    ["/docs", "/openapi.json"],
    helmet({
      contentSecurityPolicy: {
        useDefaults: false,
        directives: {
          defaultSrc: ["'self'"],
          // Swagger UI sets styles on elements and shows inline SVG images.
          styleSrc: ["'self'", "'unsafe-inline'"],
          imgSrc: ["'self'", "data:"],
          frameAncestors: ["'none'"],
          baseUri: ["'none'"],
          objectSrc: ["'none'"],
        },
      },
      strictTransportSecurity: https,
    }),
  );
  let document: Promise<string> | null = null;
  router.get("/openapi.json", (_req, res, next) => {
    // The generator is loaded when somebody asks; most processes never need it.
    document ??= import("./openapi-document.ts").then(({ buildOpenApiDocument }) =>
      JSON.stringify(buildOpenApiDocument(table, about)),
    );
    document.then((body) => res.type("application/json").send(body), next);
  });
  router.get("/docs", (_req, res) => void res.type("html").send(docsPage()));
  router.get("/docs/init.js", (_req, res) => void res.type("js").send(docsScript()));
  router.get("/docs/problems", (_req, res) => void res.type("html").send(problemIndexPage()));
  router.get("/docs/problems/:code", (req, res, next) => {
    const page = problemPage(req.params.code);
    if (page) res.type("html").send(page);
    else next();
  });
  const assets = dirname(createRequire(import.meta.url).resolve("swagger-ui-dist/package.json"));
  router.use("/docs/assets", express.static(assets, { index: false, maxAge: "1h", fallthrough: true }));
  return router;
}
