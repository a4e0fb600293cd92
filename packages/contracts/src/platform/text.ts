import { z } from "zod";

/** Text that PostgreSQL can store (no NUL, no half of a surrogate pair). Length is counted in UTF-16 units. */
export function plainText(minLength: number, maxLength: number) {
  return z
    .string()
    .min(minLength)
    .max(maxLength)
    .refine((value) => !value.includes("\u0000"), "must not contain a NUL character")
    .refine((value) => value.isWellFormed(), "must not contain half of a surrogate pair");
}

/** A point in time as RFC 3339 text with an offset, e.g. `2026-01-31T12:00:00Z`. */
export const dateTime = z.iso.datetime({ offset: true });

export const uuid = z.guid().transform((value) => value.toLowerCase());

const LABEL = /^[\p{L}\p{N}]([\p{L}\p{N}-]{0,61}[\p{L}\p{N}])?$/u;

/** Labels of letters, digits and hyphens, at least two, 253 characters in all. International names too. */
export const domainName = z
  .string()
  .max(253)
  .refine((value) => {
    const labels = value.split(".");
    return labels.length > 1 && labels.every((label) => LABEL.test(label));
  }, "must be a domain name such as example.com");
