import { ERROR_KINDS, isErrorCode } from "@quayside/contracts";

const STYLE = `<style>
:root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif }
body { max-width: 42rem; margin: 3rem auto; padding: 0 1rem }
code { font-family: ui-monospace, monospace }
td, th { text-align: left; padding: .2rem 1rem .2rem 0 }
</style>`;

function page(title: string, body: string, head = ""): string {
  return `<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><title>${title}</title>${head}</head><body>${body}</body></html>`;
}

/** Swagger UI over our own document. */
export function docsPage(): string {
  return page(
    "Quayside API",
    '<main id="docs"></main><script src="/docs/assets/swagger-ui-bundle.js"></script><script src="/docs/init.js"></script>',
    '<link rel="stylesheet" href="/docs/assets/swagger-ui.css">',
  );
}

export function docsScript(): string {
  return 'SwaggerUIBundle({ url: "/openapi.json", dom_id: "#docs", deepLinking: true, validatorUrl: null });\n';
}

export function problemIndexPage(): string {
  const rows = Object.entries(ERROR_KINDS)
    .map(
      ([code, { status, title }]) =>
        `<tr><td><a href="/docs/problems/${code}"><code>${code}</code></a></td><td>${status}</td><td>${title}</td></tr>`,
    )
    .join("");
  return page(
    "Problems",
    `<h1>Problems</h1><table><tr><th>Code</th><th>Status</th><th>Title</th></tr>${rows}</table>`,
    STYLE,
  );
}

/** Null for a code that does not exist. */
export function problemPage(code: string): string | null {
  if (!isErrorCode(code)) return null;
  const { status, title } = ERROR_KINDS[code];
  return page(
    title,
    `<h1>${title}</h1><p>Code <code>${code}</code>, HTTP status ${status}.</p><p>${EXPLANATIONS[code]}</p><p><a href="/docs/problems">All problems</a></p>`,
    STYLE,
  );
}

const EXPLANATIONS: Record<keyof typeof ERROR_KINDS, string> = {
  malformed_body: "The body is not a JSON object, or it ended too early. The message says where the fault is.",
  invalid_payment_event: "The body is not an event of the payment provider.",
  invalid_request: "Something about the request is wrong; the message says what would be right.",
  sign_in_required:
    "No credential was sent. Send <code>Authorization: Bearer …</code> with an API key, session token or JWT.",
  invalid_credentials: "The credential is unknown, revoked, expired or malformed. Sign in again, or use another key.",
  invalid_signature: "The signature of the body is missing, wrong or too old.",
  live_key_requires_paid_plan:
    "Keys of the environment <code>live</code> need an active paid plan. <code>test</code> and <code>dev</code> keys do not.",
  insufficient_scope:
    "The credential is good but lacks a scope. <code>admin</code> includes <code>write</code>, which includes <code>read</code>.",
  forbidden: "The caller is known but may not do this.",
  cross_site_request:
    "A browser sent a change from another site with this site's cookie. Use a bearer credential instead.",
  password_login_disabled: "This installation signs people in through single sign-on only.",
  organization_not_trusted: "Apps of this organization may not run here without a sandbox.",
  not_found: "Nothing has this name or id, or it belongs to somebody else.",
  method_not_allowed: "The path exists, but not for this method. The <code>Allow</code> header lists the right ones.",
  conflict: "The change contradicts what is there, such as a name in use.",
  user_exists: "Another user has this name or email.",
  idempotency_key_reused:
    "The <code>Idempotency-Key</code> was used with another body. Use a new key for a new request.",
  idempotency_in_progress:
    "The first request with this <code>Idempotency-Key</code> has not ended yet. Try again shortly.",
  payload_too_large: "The body is larger than this path takes.",
  unsupported_media_type: "The <code>Content-Type</code> is not the one that this path takes.",
  validation_failed: "A field is missing, unknown or has a wrong value. <code>errors</code> lists every fault.",
  invalid_cursor: "The cursor was not made by this list with the same sort and filter. Begin without one.",
  source_missing: "There is nothing to deploy: the project has no repository.",
  rate_limited: "Too many requests. Wait for the seconds in <code>Retry-After</code>.",
  internal_error: "A fault on the server's side. The request id finds it in the server's log.",
  not_configured: "This function needs a setting that the operator has not made.",
  database_unavailable: "The server cannot reach its database. Try again after <code>Retry-After</code>.",
  shutting_down: "The server is stopping. Try again; another one takes over.",
};
