import { expect } from "vitest";
import type { Reply } from "./quayside.ts";

type Message = string | RegExp;

const matching = (message: Message | undefined): unknown =>
  message === undefined ? expect.any(String) : message instanceof RegExp ? expect.stringMatching(message) : message;

const issue = { field: expect.any(String), code: expect.any(String), message: expect.any(String) };

/** What every error answer has in common, whatever its area: JSON, no caching, a request id, nothing of the inside. */
function expectPublic(reply: Reply, status: number, contentType: string): void {
  expect({ status: reply.status, text: reply.text }).toEqual({ status, text: expect.any(String) });
  expect(reply.headers.get("content-type")).toBe(`${contentType}; charset=utf-8`);
  expect(reply.headers.get("cache-control")).toBe("no-store");
  expect(reply.headers.get("x-request-id")).toMatch(/^[A-Za-z0-9._-]{1,128}$/);
  expect(reply.text).not.toMatch(/node_modules|\.ts:\d|\bat \w+ \(|select .* from|insert into|postgres/i);
}

/** A `Problem` (RFC 9457) with all its members, as `/v1/crm` answers. */
export function expectProblem(reply: Reply, status: number, code: string, detail?: Message): void {
  expectPublic(reply, status, "application/problem+json");
  const { errors, ...problem } = reply.body;
  expect(problem).toEqual({
    type: expect.stringMatching(new RegExp(`^http://[^/]+/docs/problems/${code}$`)),
    title: expect.stringMatching(/^[A-Z]/),
    status,
    detail: matching(detail),
    instance: expect.stringMatching(/^\//),
    code,
    request_id: reply.headers.get("x-request-id"),
  });
  if (errors !== undefined) expectIssues(errors);
}

/** `{error, code}`, as the registry answers. */
export function expectCoded(reply: Reply, status: number, code: string, message?: Message): void {
  expectPublic(reply, status, "application/json");
  const { issues, ...body } = reply.body;
  expect(body).toEqual({ error: matching(message), code });
  if (issues !== undefined) expectIssues(issues);
}

/** `{error: {code, message}}`, as projects answer. */
export function expectEnvelope(reply: Reply, status: number, code: string, message?: Message): void {
  expectPublic(reply, status, "application/json");
  const { issues, ...error } = reply.body.error;
  expect({ ...reply.body, error }).toEqual({ error: { code, message: matching(message) } });
  if (issues !== undefined) expectIssues(issues);
}

/** `{error}`, as deployments answer. */
export function expectPlain(reply: Reply, status: number, message?: Message): void {
  expectPublic(reply, status, "application/json");
  const { issues, ...body } = reply.body;
  expect(body).toEqual({ error: matching(message) });
  if (issues !== undefined) expectIssues(issues);
}

function expectIssues(issues: unknown): void {
  expect(issues).toEqual(expect.arrayContaining([issue]));
}
