import type { PublicError } from "@quayside/api";
import { ERROR_KINDS, type ErrorStyle } from "@quayside/contracts";

export interface RenderedError {
  status: number;
  contentType: string;
  body: string;
}

const JSON_TYPE = "application/json; charset=utf-8";
/** A caller mends the first faults first; a large body can have a million of them. */
const MAX_ISSUES = 100;

/** An error in its area's style. `instance` is the path of the request. */
export function renderError(
  error: PublicError,
  style: ErrorStyle,
  request: { baseUrl: string; instance: string; requestId: string },
): RenderedError {
  const issues = error.issues?.slice(0, MAX_ISSUES);
  const extras = {
    ...(issues ? { issues } : {}),
    ...(error.allowed ? { allowed: error.allowed } : {}),
  };
  if (style === "problem") {
    const { title } = ERROR_KINDS[error.code];
    const problem = {
      type: `${request.baseUrl}/docs/problems/${error.code}`,
      title,
      status: error.status,
      detail: error.message,
      instance: request.instance,
      code: error.code,
      request_id: request.requestId,
      ...(issues ? { errors: issues } : {}),
    };
    return {
      status: error.status,
      contentType: "application/problem+json; charset=utf-8",
      body: JSON.stringify(problem),
    };
  }
  if (style === "envelope") {
    const body = { error: { code: error.code, message: error.message, ...extras } };
    return { status: error.status, contentType: JSON_TYPE, body: JSON.stringify(body) };
  }
  if (style === "coded") {
    const body = { error: error.message, code: error.code, ...extras };
    return { status: error.status, contentType: JSON_TYPE, body: JSON.stringify(body) };
  }
  // The deployment endpoints document 400 for bad input.
  const status = error.code === "validation_failed" ? 400 : error.status;
  return { status, contentType: JSON_TYPE, body: JSON.stringify({ error: error.message, ...extras }) };
}

const STYLE_BY_PREFIX: readonly (readonly [string, ErrorStyle])[] = [
  ["/v1/crm", "problem"],
  ["/api/deployments", "plain"],
  ["/api/app-deploys", "plain"],
  ["/api/v1", "coded"],
  ["/-/", "coded"],
  ["/npm/", "coded"],
  ["/verify", "coded"],
  ["/api/", "envelope"],
];

/** The style in which an area speaks of a path that no route knows. */
export function errorStyleOfPath(path: string): ErrorStyle {
  return STYLE_BY_PREFIX.find(([prefix]) => path.startsWith(prefix))?.[1] ?? "problem";
}
