import type { z } from "zod";

const MAX_SHOWN = 50;

/**
 * Words for what a schema refuses, where its own would puzzle: in a query everything is text, and a list means that a
 * name was given more than once. Undefined leaves the schema's own message.
 */
export function explainIssue(issue: z.core.$ZodRawIssue, fromQuery: boolean): string | undefined {
  if (issue.code === "invalid_format" && issue.format === "guid") return "must be a UUID";
  if (issue.code === "too_small" || issue.code === "too_big") return explainSize(issue);
  if (issue.code === "invalid_type" && issue.input === undefined) return "is required";
  if (!fromQuery || (issue.code !== "invalid_type" && issue.code !== "invalid_value")) return undefined;
  const { input } = issue;
  const expected = issue.code === "invalid_type" ? issue.expected : "text";
  if (input === undefined) return undefined;
  if (Array.isArray(input) && expected !== "array") return `was given ${input.length} times; give it once`;
  if (typeof input === "object" && expected !== "object" && expected !== "record") {
    return "takes one value, without a name in brackets behind it";
  }
  if (expected === "number") return `must be a number such as 20, not ${shown(input)}`;
  if (expected === "int") return `must be a whole number such as 20, not ${shown(input)}`;
  if (expected === "boolean") return `must be true or false, not ${shown(input)}`;
  if (expected === "object" || expected === "record") {
    return `takes no value itself; say which part is meant, as in ${pathOf(issue)}[…]=…`;
  }
  return undefined;
}

/** At least or at most so many characters, items, or so much. */
function explainSize(
  issue: z.core.$ZodRawIssue<z.core.$ZodIssueTooSmall | z.core.$ZodIssueTooBig>,
): string | undefined {
  const small = issue.code === "too_small";
  const limit = Number(small ? issue.minimum : issue.maximum);
  const unit = { string: "character", array: "item", set: "item" }[issue.origin as string];
  if (unit === undefined) {
    const than = small ? (issue.inclusive ? "at least" : "more than") : issue.inclusive ? "at most" : "less than";
    return ["number", "int"].includes(issue.origin) ? `must be ${than} ${limit}` : undefined;
  }
  if (small && limit === 1) return "must not be empty";
  return `must have at ${small ? "least" : "most"} ${limit} ${unit}${limit === 1 ? "" : "s"}`;
}

function shown(input: unknown): string {
  const text = String(input);
  return `'${text.slice(0, MAX_SHOWN)}${text.length > MAX_SHOWN ? "…" : ""}'`;
}

/** As it is written in a query: `filter[score]`. */
function pathOf({ path = [] }: z.core.$ZodRawIssue): string {
  const [first = "name", ...rest] = path.map(String);
  return `${first}${rest.map((name) => `[${name}]`).join("")}`;
}
