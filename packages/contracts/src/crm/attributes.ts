import { z } from "zod";

const MAX_KEYS = 200;
const MAX_KEY_LENGTH = 128;
const MAX_DEPTH = 8;
const MAX_CHARACTERS = 65_536;

/** Why a value cannot be stored as JSON text in PostgreSQL, or null. */
function faultOf(value: unknown, depth: number): string | null {
  if (typeof value === "string") return textFault(value);
  if (typeof value !== "object" || value === null) return null;
  if (depth > MAX_DEPTH) return `must not be nested more than ${MAX_DEPTH} deep`;
  const entries = Array.isArray(value) ? value.map((item) => ["", item] as const) : Object.entries(value);
  for (const [key, item] of entries) {
    if (key.length > MAX_KEY_LENGTH) return `must not have keys of more than ${MAX_KEY_LENGTH} characters`;
    const fault = textFault(key) ?? faultOf(item, depth + 1);
    if (fault) return fault;
  }
  return null;
}

function textFault(text: string): string | null {
  if (text.includes("\u0000")) return "must not contain a NUL character";
  return text.isWellFormed() ? null : "must not contain half of a surrogate pair";
}

/** Free values by name: at most 200 keys of 128 characters, 8 levels and 64 KiB of JSON. */
export const attributes = z.record(z.string(), z.unknown()).superRefine((value, check) => {
  const keys = Object.keys(value);
  const refuse = (message: string, path: string[] = []) => check.addIssue({ code: "custom", message, path });
  if (keys.length > MAX_KEYS) return refuse(`must not have more than ${MAX_KEYS} keys`);
  for (const key of keys) {
    if (key.length === 0 || key.length > MAX_KEY_LENGTH)
      return refuse(`must have keys of 1 to ${MAX_KEY_LENGTH} characters`);
    const fault = textFault(key) ?? faultOf(value[key], 1);
    if (fault) return refuse(fault, [key.slice(0, MAX_KEY_LENGTH)]);
  }
  if (JSON.stringify(value).length > MAX_CHARACTERS)
    refuse(`must not be longer than ${MAX_CHARACTERS} characters of JSON`);
});
export type Attributes = Record<string, unknown>;
