/** A start of the embedded PostgreSQL that cannot succeed; the message is written for the operator. */
export class EmbeddedPostgresError extends Error {
  override readonly name = "EmbeddedPostgresError";
}

/** The `code` of a Node.js or PostgreSQL error ("ENOENT", "28P01"), or null when there is none. */
export function errorCode(error: unknown): string | null {
  if (typeof error !== "object" || error === null || !("code" in error)) return null;
  return typeof error.code === "string" ? error.code : null;
}

/** Resolves to null instead of rejecting when the error has one of the given codes. */
export async function unless<T>(work: Promise<T>, ...codes: string[]): Promise<T | null> {
  try {
    return await work;
  } catch (error) {
    if (codes.includes(errorCode(error) ?? "")) return null;
    throw error;
  }
}
