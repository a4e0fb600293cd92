/**
 * Every error that Quayside tells a caller, with the HTTP status and tRPC code it becomes. The union is closed: a new
 * error begins here. `docs/api-design.md` explains how each area renders them.
 */
const ERROR_TABLE = {
  malformed_body: { status: 400, trpc: "PARSE_ERROR", title: "Malformed body" },
  invalid_payment_event: { status: 400, trpc: "BAD_REQUEST", title: "Invalid payment event" },
  invalid_request: { status: 400, trpc: "BAD_REQUEST", title: "Invalid request" },
  sign_in_required: { status: 401, trpc: "UNAUTHORIZED", title: "Sign in required" },
  invalid_credentials: { status: 401, trpc: "UNAUTHORIZED", title: "Invalid credentials" },
  invalid_signature: { status: 401, trpc: "UNAUTHORIZED", title: "Invalid signature" },
  live_key_requires_paid_plan: { status: 402, trpc: "PAYMENT_REQUIRED", title: "Live key requires a paid plan" },
  insufficient_scope: { status: 403, trpc: "FORBIDDEN", title: "Insufficient scope" },
  forbidden: { status: 403, trpc: "FORBIDDEN", title: "Forbidden" },
  cross_site_request: { status: 403, trpc: "FORBIDDEN", title: "Cross-site request refused" },
  password_login_disabled: { status: 403, trpc: "FORBIDDEN", title: "Password login disabled" },
  organization_not_trusted: { status: 403, trpc: "FORBIDDEN", title: "Organization not trusted" },
  not_found: { status: 404, trpc: "NOT_FOUND", title: "Not found" },
  method_not_allowed: { status: 405, trpc: "METHOD_NOT_SUPPORTED", title: "Method not allowed" },
  conflict: { status: 409, trpc: "CONFLICT", title: "Conflict" },
  user_exists: { status: 409, trpc: "CONFLICT", title: "User exists" },
  idempotency_key_reused: { status: 409, trpc: "CONFLICT", title: "Idempotency key reused" },
  idempotency_in_progress: { status: 409, trpc: "CONFLICT", title: "Idempotent request in progress" },
  payload_too_large: { status: 413, trpc: "PAYLOAD_TOO_LARGE", title: "Payload too large" },
  unsupported_media_type: { status: 415, trpc: "UNSUPPORTED_MEDIA_TYPE", title: "Unsupported media type" },
  validation_failed: { status: 422, trpc: "BAD_REQUEST", title: "Validation failed" },
  invalid_cursor: { status: 422, trpc: "BAD_REQUEST", title: "Invalid cursor" },
  source_missing: { status: 422, trpc: "UNPROCESSABLE_CONTENT", title: "No source to deploy" },
  rate_limited: { status: 429, trpc: "TOO_MANY_REQUESTS", title: "Rate limited" },
  internal_error: { status: 500, trpc: "INTERNAL_SERVER_ERROR", title: "Internal error" },
  not_configured: { status: 503, trpc: "SERVICE_UNAVAILABLE", title: "Not configured" },
  database_unavailable: { status: 503, trpc: "SERVICE_UNAVAILABLE", title: "Database unavailable" },
  shutting_down: { status: 503, trpc: "SERVICE_UNAVAILABLE", title: "Shutting down" },
} as const;

export type ErrorCode = keyof typeof ERROR_TABLE;
export type TrpcErrorCode = (typeof ERROR_TABLE)[ErrorCode]["trpc"];

export interface ErrorKind {
  status: number;
  trpc: TrpcErrorCode;
  title: string;
}

export const ERROR_KINDS: Readonly<Record<ErrorCode, ErrorKind>> = ERROR_TABLE;

export function isErrorCode(value: unknown): value is ErrorCode {
  return typeof value === "string" && Object.hasOwn(ERROR_TABLE, value);
}

/** One fault in an input. `field` is a dotted path, empty for the input as a whole. */
export interface FieldIssue {
  field: string;
  code: string;
  message: string;
}

export interface ErrorDetails {
  issues?: FieldIssue[];
  /** Milliseconds after which a new try makes sense; becomes `Retry-After`. */
  retryAfterMs?: number;
  /** The values that would have been right. */
  allowed?: readonly string[];
}

/** The one error that verbs throw. Its message is public: no secret, no SQL, nothing of another tenant. */
export class PlatformError extends Error {
  readonly code: ErrorCode;
  readonly details: ErrorDetails;
  constructor(code: ErrorCode, message: string, details: ErrorDetails = {}, options?: ErrorOptions) {
    super(message, options);
    this.name = "PlatformError";
    this.code = code;
    this.details = details;
  }
}
