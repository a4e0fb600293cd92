import type { Area } from "./environment.ts";
import type { ApiScope } from "./principal.ts";

/** How an area writes its errors. `problem`: RFC 9457. `plain`: `{error}`. `coded`: `{error, code}`. `envelope`: `{error: {code, message}}`. */
export type ErrorStyle = "problem" | "plain" | "coded" | "envelope";

/**
 * What a route asks of its caller before the procedure runs. `gateway`: the gateway's bearer. `entitlements`: the
 * secret of the service that writes plans. Both are 503 while their secret is unset.
 */
export type RouteAuth = "none" | "caller" | "internal" | "super" | "internal-or-super" | "gateway" | "entitlements";

/** `json`: one JSON answer. `sse`: server-sent events. `log`: text lines, or SSE for who accepts it. */
export type RouteKind = "json" | "sse" | "log";

/** The REST face of a procedure, beside the `openapi` meta of trpc-openapi. */
export interface RestMeta {
  auth: RouteAuth;
  errors: ErrorStyle;
  /** Success status; 204 answers no body. */
  status: 200 | 201 | 202 | 204;
  kind: RouteKind;
  /** Success statuses besides `status`, with what they mean. */
  otherStatus?: Readonly<Record<number, string>>;
  /** The scope that the caller's credential must have. */
  scope?: ApiScope;
  /** Name of the server-sent events. */
  event?: string;
  /** The query has nested parameters such as `filter[score][gt]`. */
  nestedQuery?: boolean;
  /** Honours `Idempotency-Key`. */
  idempotent?: boolean;
  /** The body reaches the procedure as it came, with one header, for signatures: `{payload, signature}`. */
  raw?: { signatureHeader: string };
  /** Its verb honours `Idempotency-Key` by a rule of its own. */
  ownIdempotency?: boolean;
  /** Largest body in bytes; 1 MiB when unset. */
  maxBodyBytes?: number;
}

export interface ProcedureMeta {
  openapi?: {
    method: "GET" | "POST" | "PATCH" | "PUT" | "DELETE";
    path: `/${string}`;
    summary: string;
    description?: string;
    tags: string[];
    protect?: boolean;
    successDescription?: string;
    errorResponses?: Record<number, string>;
    enabled?: boolean;
  };
  rest?: RestMeta;
}

const AREA_BY_PREFIX: readonly (readonly [string, Area])[] = [
  ["/v1/crm", "crm"],
  ["/api/webhooks", "webhooks"],
  ["/api/v1/", "registry"],
  ["/api/auth/", "registry"],
  ["/api/", "hosting"],
];

/** The area that a documented path belongs to. */
export function areaOfPath(path: string): Area {
  return AREA_BY_PREFIX.find(([prefix]) => path.startsWith(prefix))?.[1] ?? "registry";
}
