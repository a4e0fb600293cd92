import { TRPCClientError } from "@trpc/client";
import { expect, test } from "vitest";
import {
  AuthenticationError,
  ConflictError,
  NetworkError,
  NotFoundError,
  PermissionError,
  QuaysideError,
  RateLimitError,
  ServerError,
  toQuaysideError,
  ValidationError,
} from "./errors.ts";

function answered(httpStatus: number, errorCode: string, more: object = {}): TRPCClientError<never> {
  return TRPCClientError.from({
    error: { code: -32000, message: "said by the server", data: { httpStatus, errorCode, requestId: "r-1", ...more } },
  } as never) as TRPCClientError<never>;
}

test.each([
  [400, "malformed_body", ValidationError],
  [401, "sign_in_required", AuthenticationError],
  [402, "live_key_requires_paid_plan", PermissionError],
  [403, "insufficient_scope", PermissionError],
  [404, "not_found", NotFoundError],
  [409, "conflict", ConflictError],
  [413, "payload_too_large", ValidationError],
  [422, "validation_failed", ValidationError],
  [429, "rate_limited", RateLimitError],
  [500, "internal_error", ServerError],
  [503, "database_unavailable", ServerError],
])("%i %s has its class", (status, code, expected) => {
  const error = toQuaysideError(answered(status, code));
  expect(error.constructor).toBe(expected);
  expect(error).toBeInstanceOf(QuaysideError);
  expect(error).toMatchObject({ name: expected.name, status, code, requestId: "r-1", message: "said by the server" });
});

test("an error carries its faults and the time to wait", () => {
  const issues = [{ field: "name", code: "too_small", message: "too short" }];
  expect(toQuaysideError(answered(422, "validation_failed", { issues })).issues).toEqual(issues);
  expect(toQuaysideError(answered(429, "rate_limited", { retryAfterMs: 1_500 })).retryAfterMs).toBe(1_500);
});

test("whatever did not come from the server is a network error with its cause", () => {
  const cause = new TypeError("fetch failed");
  const error = toQuaysideError(TRPCClientError.from(cause));
  expect(error).toBeInstanceOf(NetworkError);
  expect(error).toMatchObject({ code: "network_error", status: null, requestId: null, issues: [], retryAfterMs: null });
  expect(error.message).toContain("fetch failed");
  expect(toQuaysideError("a string").message).toContain("a string");
});

test("an error that has its class already is left as it is", () => {
  const error = toQuaysideError(answered(404, "not_found"));
  expect(toQuaysideError(error)).toBe(error);
});
