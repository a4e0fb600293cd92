import type { ValueShares } from "./count-shares.ts";
import type { Evidence, EvidenceGroup, Finding } from "./evidence.ts";
import type { PreparedEmail } from "./prepare-email.ts";
import { editsWithin, likeness } from "./text-distance.ts";
import { bitsOf, RATES } from "./weights.ts";

/** People have several addresses: the pair that says most for one person counts. */
export function compareEmails(
  a: readonly PreparedEmail[],
  b: readonly PreparedEmail[],
  shares?: ValueShares,
): Evidence | undefined {
  let best: Evidence | undefined;
  for (const left of a) {
    for (const right of b) {
      const evidence = compareEmail(left, right, shares);
      if (evidence !== undefined && (best === undefined || evidence.bits > best.bits)) best = evidence;
    }
  }
  return best;
}

function compareEmail(a: PreparedEmail, b: PreparedEmail, shares?: ValueShares): Evidence | undefined {
  const evidence = (group: EvidenceGroup, finding: Finding, bits: number): Evidence => ({
    group,
    field: "email address",
    finding,
    bits,
    left: a.shown,
    right: b.shown,
  });
  if (a.address === b.address) {
    const share = shares?.("email", a.address);
    if (a.isRole) return evidence("company", "sameRole", bitsOf(RATES.emailRole.same));
    return evidence("email", "same", bitsOf(RATES.email.same, share));
  }
  if (a.isRole || b.isRole) {
    // A person's own mailbox beside a role's says nothing: many have both.
    return a.isRole && b.isRole ? evidence("company", "far", bitsOf(RATES.emailRole.far)) : undefined;
  }
  const finding = a.domain.text === b.domain.text ? compareAtOneDomain(a, b) : compareAcrossDomains(a, b);
  if (finding === "colleagues") return evidence("email", finding, bitsOf(RATES.emailColleague));
  return evidence("email", finding, bitsOf(RATES.email[finding]));
}

function compareAtOneDomain(a: PreparedEmail, b: PreparedEmail): "close" | "similar" | "far" | "colleagues" {
  if (a.local.text === b.local.text) return "close";
  const [short, long] =
    a.local.text.length < b.local.text.length ? [a.local.text, b.local.text] : [b.local.text, a.local.text];
  // The first letter is often a given name's initial, and a digit tells namesakes apart: neither passes for a slip.
  const slip = short.length >= 5 && short[0] === long[0] && digitsOf(short) === digitsOf(long);
  if (slip && editsWithin(a.local, b.local, 1) === 1) return "close";
  if (short.length >= 3 && long.startsWith(short)) return "similar";
  return a.isPublic ? "far" : "colleagues";
}

function compareAcrossDomains(a: PreparedEmail, b: PreparedEmail): "close" | "similar" | "far" {
  if (a.local.text !== b.local.text) return "far";
  // A slip in a public provider's domain leads to a domain that is none.
  if (a.isPublic !== b.isPublic && likeness(a.domain, b.domain) === "close") return "close";
  return a.local.text.length >= 5 ? "similar" : "far";
}

function digitsOf(text: string): string {
  return text.replace(/[^0-9]/g, "");
}
