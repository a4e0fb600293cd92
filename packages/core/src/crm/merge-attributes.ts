import { type Attributes, attributes, PlatformError } from "@quayside/contracts";

/** Merged key by key; null removes a key. Throws `validation_failed` (422) when the whole is more than may be stored. */
export function mergeAttributes(before: Attributes, given: Attributes): Attributes {
  const merged = new Map(Object.entries({ ...before, ...given }));
  for (const [key, value] of Object.entries(given)) if (value === null) merged.delete(key);
  const whole = Object.fromEntries(merged);
  const fault = attributes.safeParse(whole).error?.issues[0];
  if (!fault) return whole;
  const message = `Together with what is there, attributes ${fault.message}.`;
  throw new PlatformError("validation_failed", message, {
    issues: [{ field: "attributes", code: "invalid_value", message }],
  });
}
