import type { Evidence } from "./evidence.ts";

/** Less than this, in bits, is not worth a sentence. */
const LEAST_BITS = 0.3;
const MAX_REASONS = 12;

/** Sentences about what speaks for and against, the weightiest first. */
export function describeEvidence(evidence: readonly Evidence[]): string[] {
  return evidence
    .filter(({ bits }) => Math.abs(bits) >= LEAST_BITS)
    .sort((a, b) => Math.abs(b.bits) - Math.abs(a.bits) || (a.field < b.field ? -1 : 1))
    .slice(0, MAX_REASONS)
    .map(describe);
}

function describe({ field, finding, left, right }: Evidence): string {
  const name = readable(field);
  const both = left <= right ? `'${left}' and '${right}'` : `'${right}' and '${left}'`;
  switch (finding) {
    case "same":
      return left === right ? `Same ${name} ${left}` : `Same ${name}, written ${both}`;
    case "sameRole":
      return `Same shared mailbox ${left}`;
    case "reordered":
      return `Same ${name} in another order: ${both}`;
    case "relatives":
      return `Same surname, but different given names: ${both}`;
    case "partly":
      return `${plural(name)} agree in part only: ${both}`;
    case "daySwapped":
      return `Day and month may be swapped: ${both}`;
    case "elsewhere":
      return `Parts of the address stand in another place: ${both}`;
    case "colleagues":
      return `Two mailboxes of one company: ${both}`;
    case "close":
      return `${plural(name)} are close: ${both}`;
    case "similar":
      return `${plural(name)} are similar: ${both}`;
    case "far":
      return `${plural(name)} differ: ${both}`;
  }
}

/** "phone_number" reads "phone number". */
function readable(field: string): string {
  const words = field
    .replace(/[\p{C}\p{Z}_-]+/gu, " ")
    .trim()
    .slice(0, 40)
    .replace(/[\uD800-\uDBFF]$/, "")
    .toLowerCase();
  return words === "" ? "attribute" : words;
}

function plural(name: string): string {
  const text =
    name === "date of birth"
      ? "dates of birth"
      : /[a-z]/.test(name.slice(-1))
        ? pluralOfWord(name)
        : `values of ${name}`;
  return text.charAt(0).toUpperCase() + text.slice(1);
}

function pluralOfWord(name: string): string {
  if (/(s|x|ch|sh)$/.test(name)) return `${name}es`;
  return /[^aeiou]y$/.test(name) ? `${name.slice(0, -1)}ies` : `${name}s`;
}
