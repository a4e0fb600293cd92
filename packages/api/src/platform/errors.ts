import { ERROR_KINDS, type ErrorCode, type FieldIssue, PlatformError } from "@quayside/contracts";
import { isDatabaseBusy, isDatabaseUnavailable } from "@quayside/core";
import { TRPCError } from "@trpc/server";
import { ZodError } from "zod";

/** What a caller is told, whatever was thrown. `unexpected` errors are logged; their text stays inside. */
export interface PublicError {
  code: ErrorCode;
  status: number;
  message: string;
  issues?: FieldIssue[];
  allowed?: readonly string[];
  retryAfterMs?: number;
  unexpected: boolean;
}

const DATABASE_RETRY_MS = 2_000;

export function toPublicError(thrown: unknown): PublicError {
  const error = thrown instanceof TRPCError && thrown.cause ? thrown.cause : thrown;
  if (error instanceof PlatformError) {
    const { retryAfterMs, issues, allowed } = error.details;
    return {
      code: error.code,
      status: ERROR_KINDS[error.code].status,
      message: error.message,
      ...(issues ? { issues } : {}),
      ...(allowed ? { allowed } : {}),
      ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
      unexpected: false,
    };
  }
  if (error instanceof ZodError && (!(thrown instanceof TRPCError) || thrown.code === "BAD_REQUEST")) {
    const issues = toFieldIssues(error);
    return { ...known("validation_failed"), message: summaryOf(issues), issues };
  }
  const gone = isDatabaseUnavailable(error);
  if (gone || isDatabaseBusy(error)) {
    const message = gone ? "The database cannot be reached." : "The database is too busy for this; try again.";
    return { ...known("database_unavailable"), message, retryAfterMs: DATABASE_RETRY_MS };
  }
  if (thrown instanceof TRPCError && thrown.code !== "INTERNAL_SERVER_ERROR") return fromTrpc(thrown);
  return {
    ...known("internal_error"),
    message: "Something went wrong on our side; the request id finds it in the log.",
    unexpected: true,
  };
}

function known(code: ErrorCode) {
  return { code, status: ERROR_KINDS[code].status, unexpected: false };
}

/** Errors that tRPC itself makes: an unknown procedure, a malformed body, a wrong method. */
function fromTrpc(error: TRPCError): PublicError {
  const codes: Partial<Record<TRPCError["code"], ErrorCode>> = {
    NOT_FOUND: "not_found",
    PARSE_ERROR: "malformed_body",
    METHOD_NOT_SUPPORTED: "method_not_allowed",
    UNSUPPORTED_MEDIA_TYPE: "unsupported_media_type",
    PAYLOAD_TOO_LARGE: "payload_too_large",
  };
  // tRPC calls a body or input that is no JSON a bad request.
  const code = error.cause instanceof SyntaxError ? "malformed_body" : (codes[error.code] ?? "invalid_request");
  return { ...known(code), message: error.message };
}

function toFieldIssues(error: ZodError): FieldIssue[] {
  return error.issues.flatMap((issue): FieldIssue[] => {
    const path = issue.path.map(String).join(".");
    if (issue.code === "unrecognized_keys") {
      return issue.keys.map((key) => ({
        field: path === "" ? key : `${path}.${key}`,
        code: issue.code,
        message: "This field is not known here.",
      }));
    }
    return [{ field: path, code: issue.code, message: issue.message }];
  });
}

function summaryOf(issues: FieldIssue[]): string {
  const [first] = issues;
  if (!first) return "The input is not valid.";
  const more = issues.length > 1 ? ` (and ${issues.length - 1} more)` : "";
  return `${first.field === "" ? "The input" : `'${first.field}'`} is not valid: ${first.message}${more}`;
}
