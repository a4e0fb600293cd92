/**
 * The text of an error without the values that were bound to a failed statement: Drizzle adds them to its message, and
 * they can be anything, secrets too.
 */
export function withoutBoundValues(text: string): string {
  return text.replace(/\nparams: [\s\S]*?(?=\n {4}at |$)/g, "");
}
