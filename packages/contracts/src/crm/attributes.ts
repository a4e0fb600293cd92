import { z } from "zod";

const MAX_KEYS = 200;
const MAX_KEY_LENGTH = 128;
const MAX_DEPTH = 8;
const MAX_CHARACTERS = 65_536;
const TOO_LONG = `must not be longer than ${MAX_CHARACTERS} characters of JSON`;

/** Why a value cannot be stored as JSON text in PostgreSQL, or null. */
function faultOf(value: unknown, depth: number): string | null {
  if (typeof value === "string") return textFault(value);
  // JSON.parse reads 1e999 as Infinity, which JSON would then store as null.
  if (typeof value === "number" && !Number.isFinite(value)) return "must not contain a number beyond 1.79e308";
  // JSON.parse has rounded it already. From 1e21 on nobody writes out the digits.
  if (Number.isInteger(value) && !Number.isSafeInteger(value) && Math.abs(value as number) < 1e21) {
    return "must not contain a whole number beyond ±9007199254740991; send it as text";
  }
  if (typeof value !== "object" || value === null) return null;
  if (depth > MAX_DEPTH) return `must not be nested more than ${MAX_DEPTH} deep`;
  const isList = Array.isArray(value);
  // Each item takes a character at least, so the rest need not be looked at.
  if (isList && value.length > MAX_CHARACTERS) return TOO_LONG;
  for (const [key, item] of Object.entries(value)) {
    if (!isList && key.length > MAX_KEY_LENGTH) return `must not have keys of more than ${MAX_KEY_LENGTH} characters`;
    const fault = textFault(key) ?? faultOf(item, depth + 1);
    if (fault) return fault;
  }
  return null;
}

function textFault(text: string): string | null {
  if (text.includes("\u0000")) return "must not contain a NUL character";
  return text.isWellFormed() ? null : "must not contain half of a surrogate pair";
}

/** Keys are counted before the record is read, which takes its time with a million of them. */
function fewKeys(record: z.ZodRecord<z.ZodString, z.ZodUnknown>): z.ZodType<Attributes, Attributes> {
  const counted = z.preprocess((value, check) => {
    if (typeof value !== "object" || value === null || Object.keys(value).length <= MAX_KEYS) return value;
    check.addIssue({ code: "custom", message: `must not have more than ${MAX_KEYS} keys` });
    return z.NEVER;
  }, record);
  return counted as unknown as z.ZodType<Attributes, Attributes>;
}

/** Free values by name: at most 200 keys of 128 characters, 8 levels and 64 KiB of JSON. */
export const attributes = fewKeys(z.record(z.string(), z.unknown())).superRefine((value, check) => {
  const refuse = (message: string, path: string[] = []) => check.addIssue({ code: "custom", message, path });
  for (const key of Object.keys(value)) {
    if (key.length === 0 || key.length > MAX_KEY_LENGTH)
      return refuse(`must have keys of 1 to ${MAX_KEY_LENGTH} characters`);
    const fault = textFault(key) ?? faultOf(value[key], 1);
    if (fault) return refuse(fault, [key.slice(0, MAX_KEY_LENGTH)]);
  }
  if (JSON.stringify(value).length > MAX_CHARACTERS) refuse(TOO_LONG);
});
export type Attributes = Record<string, unknown>;
