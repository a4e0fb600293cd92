import type { RestMeta } from "@quayside/contracts";

export const TAGS = [
  { name: "API keys", description: "Keys with an environment and scopes, their verification and usage." },
  { name: "Plans and usage", description: "What services of the installation report: plans, payments, metering." },
  { name: "CRM", description: "The CRM as a whole." },
  { name: "People", description: "People, their duplicates, scores and timelines." },
  { name: "Companies", description: "Companies, linked to people by domain." },
  { name: "Campaigns", description: "Campaigns and their status." },
  { name: "CRM webhooks", description: "Who is told of changes in the CRM." },
  { name: "Registry", description: "The package registry." },
  { name: "Registry sign-in", description: "Sessions and who holds them." },
  { name: "Registry administration", description: "For super admins." },
  { name: "Projects", description: "What is hosted." },
  { name: "Deployments", description: "Commits on their way to running apps, with live streams." },
  { name: "Webhooks", description: "Who is told of what happens in the organization, and what became of it." },
];

export const SECURITY_SCHEMES = {
  bearer: { type: "http", scheme: "bearer", description: "An API key, session token, role token or JWT." },
  apiKeyHeader: { type: "apiKey", in: "header", name: "X-API-Key", description: "An API key." },
  sessionCookie: { type: "apiKey", in: "cookie", name: "registry_session", description: "A browser's session." },
  internalSecret: {
    type: "apiKey",
    in: "header",
    name: "X-Internal-Secret",
    description: "For services of this installation.",
  },
  gatewaySecret: { type: "http", scheme: "bearer", description: "The gateway's secret (`GATEWAY_SECRET`)." },
  entitlementsSecret: {
    type: "apiKey",
    in: "header",
    name: "X-Internal-Secret",
    description: "The secret of the service that writes plans (`ENTITLEMENTS_SECRET`).",
  },
  superAdminToken: { type: "apiKey", in: "header", name: "X-Super-Admin-Token", description: "Emergency override." },
};

export function securityOf(rest: RestMeta): Record<string, never[]>[] {
  const caller = [{ bearer: [] }, { apiKeyHeader: [] }, { sessionCookie: [] }];
  switch (rest.auth) {
    case "none":
      return [];
    case "caller":
      return caller;
    case "super":
      return [{ superAdminToken: [] }, ...caller];
    case "internal":
      return [{ internalSecret: [] }];
    case "gateway":
      return [{ gatewaySecret: [] }];
    case "entitlements":
      return [{ entitlementsSecret: [] }];
    case "internal-or-super":
      return [{ internalSecret: [] }, { superAdminToken: [] }];
  }
}

const text = { type: "string" };
const issues = {
  type: "array",
  items: {
    type: "object",
    properties: { field: text, code: text, message: text },
    required: ["field", "code", "message"],
  },
};
const allowed = { type: "array", items: text };

export const ERROR_SCHEMAS = {
  Problem: {
    type: "object",
    description: "RFC 9457.",
    properties: {
      type: { type: "string", format: "uri" },
      title: text,
      status: { type: "integer" },
      detail: text,
      instance: text,
      code: text,
      request_id: text,
      errors: issues,
    },
    required: ["type", "title", "status", "code"],
  },
  PlainError: { type: "object", properties: { error: text, issues, allowed }, required: ["error"] },
  CodedError: { type: "object", properties: { error: text, code: text, issues, allowed }, required: ["error", "code"] },
  EnvelopeError: {
    type: "object",
    properties: {
      error: {
        type: "object",
        properties: { code: text, message: text, issues, allowed },
        required: ["code", "message"],
      },
    },
    required: ["error"],
  },
};
