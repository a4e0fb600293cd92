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

/** A name that a reader can see: 1 to `maxLength` characters, not only space. */
export function visibleName(maxLength: number) {
  return plainText(1, maxLength).refine((value) => value === "" || value.trim() !== "", "must not be blank");
}

/** A point in time as RFC 3339 text with an offset, e.g. `2026-01-31T12:00:00Z`. */
export const dateTime = z.iso.datetime({
  offset: true,
  error: "must be a date-time with its zone, such as 2026-01-31T12:00:00Z",
});

const FIRST_MS = Date.parse("0001-01-01T00:00:00Z");
const LAST_MS = Date.parse("9999-12-31T23:59:59.999Z");

/** A time that a caller gives, in the years 1 to 9999 UTC: outside of them RFC 3339 text cannot say it any more. */
export const givenDateTime = dateTime.refine((value) => {
  const ms = Date.parse(value);
  return ms >= FIRST_MS && ms <= LAST_MS;
}, "must be in the years 0001 to 9999 (UTC)");

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
