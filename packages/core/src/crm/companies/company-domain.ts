import { isIP } from "node:net";
import { PlatformError } from "@quayside/contracts";
import { isUniqueViolation } from "../../platform/database-errors.ts";
import { normalizeDomain } from "../people/mail-domains.ts";

const MAX_LENGTH = 253;

/** The one form in which a domain is stored. Throws `validation_failed` (422) for what no domain can be. */
export function requireDomain(given: string): string {
  const domain = normalizeDomain(given);
  if (domain !== null && domain.length <= MAX_LENGTH && isIP(domain) === 0) return domain;
  const message = "domain must be a domain name such as example.com.";
  throw new PlatformError("validation_failed", message, {
    issues: [{ field: "domain", code: "invalid_format", message }],
  });
}

/** What a failed write means to the caller: a domain in use is `conflict` (409). */
export function explainTakenDomain(error: unknown, domain: string | null | undefined): unknown {
  if (!domain || !isUniqueViolation(error)) return error;
  return new PlatformError("conflict", `Another company has the domain '${domain}'.`);
}
