import { z } from "zod";

/** How the text of a query or path parameter becomes what the schema wants. */
export type Coercion = "number" | "number-or-null" | "boolean" | "array" | ReadonlyMap<string, Coercion>;

/** Read off the schema once; the schema itself is never changed, so tRPC callers keep their strict types. */
export function coercionOf(schema: z.ZodObject): ReadonlyMap<string, Coercion> {
  const coercions = new Map<string, Coercion>();
  for (const [name, field] of Object.entries(schema.shape)) {
    const kind = kindOf(field as z.ZodType);
    if (kind) coercions.set(name, kind);
  }
  return coercions;
}

function kindOf(field: z.ZodType): Coercion | null {
  let type: unknown = field;
  let nullable = false;
  while (type instanceof z.ZodOptional || type instanceof z.ZodDefault || type instanceof z.ZodNullable) {
    nullable ||= type instanceof z.ZodNullable;
    type = type.unwrap();
  }
  while (type instanceof z.ZodPipe) type = type.in;
  if (type instanceof z.ZodNumber) return nullable ? "number-or-null" : "number";
  if (type instanceof z.ZodBoolean) return "boolean";
  if (type instanceof z.ZodArray) return "array";
  if (type instanceof z.ZodObject) return coercionOf(type);
  return null;
}

/** Text that does not fit is left as it is, for the schema to refuse with its own message. */
export function coerce(
  values: Record<string, unknown>,
  coercions: ReadonlyMap<string, Coercion>,
): Record<string, unknown> {
  for (const [name, kind] of coercions) {
    const value = values[name];
    if (value !== undefined) values[name] = coerceValue(value, kind);
  }
  return values;
}

function coerceValue(value: unknown, kind: Coercion): unknown {
  if (typeof kind !== "string") {
    return typeof value === "object" && value !== null && !Array.isArray(value) ? coerce({ ...value }, kind) : value;
  }
  if (kind === "array") return Array.isArray(value) ? value : [value];
  if (typeof value !== "string") return value;
  if (kind === "number-or-null" && (value === "" || value === "null")) return null;
  if (kind === "number" || kind === "number-or-null")
    return /^-?\d{1,15}(\.\d{1,15})?$/.test(value) ? Number(value) : value;
  return value === "true" ? true : value === "false" ? false : value;
}
