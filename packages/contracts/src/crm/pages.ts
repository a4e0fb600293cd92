import { z } from "zod";
import { plainText } from "../platform/text.ts";

/** Opaque; what a list gave as `next_cursor`. */
export const cursor = z.string().min(1).max(4_096);

export function pageLimit(byDefault: number) {
  return z.int().min(1).max(200).default(byDefault);
}

/** Text to look for: 1 to 200 characters. Space around it does not count. */
export const searchText = plainText(1, 200).trim().min(1);

export function pageOf<T extends z.ZodType>(item: T) {
  return z.object({ data: z.array(item), next_cursor: z.string().nullable() });
}
