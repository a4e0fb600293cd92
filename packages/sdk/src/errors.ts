import type { AppRouter } from "@quayside/api";
import type { ErrorCode, FieldIssue } from "@quayside/contracts";
import { TRPCClientError } from "@trpc/client";

export interface QuaysideErrorFields {
  code: ErrorCode | "network_error";
  /** HTTP status, or null when no answer came. */
  status: number | null;
  requestId: string | null;
  issues: readonly FieldIssue[];
  retryAfterMs: number | null;
}

/** tRPC wraps every error that is not its own, so ours is one of its. Every failed call throws this, or one of the classes below, which say what to do about it. */
export class QuaysideError extends TRPCClientError<AppRouter> implements QuaysideErrorFields {
  readonly code: QuaysideErrorFields["code"];
  readonly status: number | null;
  readonly requestId: string | null;
  readonly issues: readonly FieldIssue[];
  readonly retryAfterMs: number | null;
  constructor(message: string, fields: QuaysideErrorFields, cause?: unknown) {
    super(message, cause instanceof Error ? { cause } : {});
    // Its constructor makes every error one of its own class.
    Object.setPrototypeOf(this, new.target.prototype);
    this.name = new.target.name;
    this.code = fields.code;
    this.status = fields.status;
    this.requestId = fields.requestId;
    this.issues = fields.issues;
    this.retryAfterMs = fields.retryAfterMs;
  }
}

/** 401: no credential, or a wrong one. */
export class AuthenticationError extends QuaysideError {}
/** 402 and 403: the credential is good but may not do this. */
export class PermissionError extends QuaysideError {}
/** 404 */
export class NotFoundError extends QuaysideError {}
/** 409 */
export class ConflictError extends QuaysideError {}
/** 400 and 422: `issues` lists what is wrong. */
export class ValidationError extends QuaysideError {}
/** 429: try again after `retryAfterMs`. */
export class RateLimitError extends QuaysideError {}
/** 5xx: a fault on the server's side. */
export class ServerError extends QuaysideError {}
/** No answer came: the server cannot be reached or the connection broke. */
export class NetworkError extends QuaysideError {}

interface ErrorData {
  httpStatus?: number;
  errorCode?: ErrorCode;
  requestId?: string | null;
  issues?: FieldIssue[] | null;
  retryAfterMs?: number | null;
}

/** What a tRPC client throws, as the class that fits. */
export function toQuaysideError(error: unknown): QuaysideError {
  if (error instanceof QuaysideError) return error;
  const message = error instanceof Error ? error.message : String(error);
  const data = error instanceof TRPCClientError ? (error.data as ErrorData | undefined) : undefined;
  if (!data?.errorCode) {
    return new NetworkError(
      `Quayside did not answer: ${message}`,
      { code: "network_error", status: null, requestId: null, issues: [], retryAfterMs: null },
      error,
    );
  }
  const status = data.httpStatus ?? 500;
  const fields: QuaysideErrorFields = {
    code: data.errorCode,
    status,
    requestId: data.requestId ?? null,
    issues: data.issues ?? [],
    retryAfterMs: data.retryAfterMs ?? null,
  };
  const ErrorClass = classOf(status);
  return new ErrorClass(message, fields, error);
}

function classOf(status: number): typeof QuaysideError {
  if (status >= 500) return ServerError;
  const byStatus: Readonly<Record<number, typeof QuaysideError>> = {
    400: ValidationError,
    401: AuthenticationError,
    402: PermissionError,
    403: PermissionError,
    404: NotFoundError,
    409: ConflictError,
    413: ValidationError,
    415: ValidationError,
    422: ValidationError,
    429: RateLimitError,
  };
  return byStatus[status] ?? QuaysideError;
}
