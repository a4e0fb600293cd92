import { PlatformError } from "@quayside/contracts";

/** Deeper than any schema allows. */
const MAX_DEPTH = 32;

/** `__proto__` as a key would be dropped without a word further down, so it is refused wherever it stands. */
export function refusePrototypeKeys(value: unknown): void {
  const path = pathOfPrototypeKey(value, []);
  if (path) throw prototypeKey(path);
}

export function prototypeKey(path: readonly string[]): PlatformError {
  const message = "The key '__proto__' is not accepted.";
  const field = [...path, "__proto__"].join(".");
  return new PlatformError("validation_failed", message, { issues: [{ field, code: "unrecognized_keys", message }] });
}

function pathOfPrototypeKey(value: unknown, path: string[]): string[] | null {
  if (typeof value !== "object" || value === null || path.length > MAX_DEPTH) return null;
  if (Object.hasOwn(value, "__proto__")) return path;
  for (const [key, item] of Object.entries(value)) {
    if (typeof item !== "object" || item === null) continue;
    const found = pathOfPrototypeKey(item, [...path, key]);
    if (found) return found;
  }
  return null;
}
