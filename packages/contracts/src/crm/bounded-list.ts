import { z } from "zod";

/**
 * A list whose length is looked at before its items are: a body of a million wrong items would otherwise become a
 * million issues. JSON Schema and types are those of the plain list.
 */
export function boundedList<T extends z.ZodType>(item: T, minItems: number, maxItems: number) {
  const list = z.array(item).min(minItems).max(maxItems);
  const bounded = z.preprocess((value, check) => {
    if (!Array.isArray(value) || value.length <= maxItems) return value;
    check.addIssue({
      code: "custom",
      message: `must not have more than ${maxItems} items; this has ${value.length}`,
    });
    return z.NEVER;
  }, list);
  return bounded as unknown as z.ZodType<z.output<typeof list>, z.input<typeof list>>;
}
