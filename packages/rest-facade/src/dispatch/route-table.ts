import { appRouter } from "@quayside/api";
import { AREAS, type Area, areaOfPath, type ProcedureMeta, type RestMeta } from "@quayside/contracts";
import type { AnyProcedure } from "@trpc/server";
import findMyWay from "find-my-way";
import { z } from "zod";
import { type Coercion, coercionOf } from "./coerce.ts";
import { createInvoke, type Invoke } from "./invoke.ts";

/** One documented REST path and the procedure behind it. */
export interface Route {
  procedurePath: string;
  procedure: AnyProcedure & { _def: { type: "query" | "mutation" | "subscription" } };
  method: string;
  /** As documented, e.g. `/api/projects/{id}`. */
  path: string;
  openapi: NonNullable<ProcedureMeta["openapi"]>;
  rest: RestMeta;
  invoke: Invoke;
  hasInput: boolean;
  coercions: ReadonlyMap<string, Coercion>;
}

export interface Match {
  route: Route;
  params: Record<string, string | undefined>;
}

export interface RouteTable {
  routes: readonly Route[];
  find(method: string, path: string): Match | null;
  /** Methods that the path knows, for 405 and `Allow`. */
  methodsOf(path: string): string[];
}

const METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE"] as const;
const MAX_PARAM_LENGTH = 1_024;

/**
 * The paths of the areas that this process serves. Built once from the procedures' meta, the single source of method,
 * path, status, security and error style.
 */
export function buildRouteTable(areas: readonly Area[] = AREAS): RouteTable {
  const finder = findMyWay({ caseSensitive: true, ignoreTrailingSlash: false, maxParamLength: MAX_PARAM_LENGTH });
  const routes: Route[] = [];
  for (const [procedurePath, procedure] of Object.entries(appRouter._def.procedures)) {
    const route = routeOf(procedurePath, procedure as unknown as Route["procedure"]);
    if (!route || !areas.includes(areaOfPath(route.path))) continue;
    routes.push(route);
    // find-my-way throws for a path that is declared twice.
    finder.on(route.method as "GET", route.path.replace(/\{([^}]+)\}/g, ":$1"), () => {}, route);
  }
  const find = (method: string, path: string): Match | null => {
    const found = finder.find(method as "GET", path);
    // An empty parameter is a trailing slash, which no documented path has.
    if (!found || Object.values(found.params).includes("")) return null;
    return { route: found.store as Route, params: found.params };
  };
  return { routes, find, methodsOf: (path) => METHODS.filter((method) => find(method, path) !== null) };
}

function routeOf(procedurePath: string, procedure: Route["procedure"]): Route | null {
  const meta = (procedure._def as { meta?: ProcedureMeta }).meta;
  if (!meta?.openapi || !meta.rest) return null;
  const [input] = (procedure._def as { inputs?: unknown[] }).inputs ?? [];
  return {
    procedurePath,
    procedure,
    method: meta.openapi.method,
    path: meta.openapi.path,
    openapi: meta.openapi,
    rest: meta.rest,
    invoke: createInvoke(procedurePath, procedure, meta.openapi.method === "GET" || meta.openapi.method === "DELETE"),
    hasInput: input !== undefined,
    coercions: input instanceof z.ZodObject ? coercionOf(input) : new Map(),
  };
}
