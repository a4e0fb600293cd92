/** Lower case, everything but letters and digits collapsed to hyphens, at most 255 characters. Null: nothing is left. */
export function slugify(name: string): string | null {
  const slug = name
    .normalize("NFKD")
    .replace(/\p{M}+/gu, "")
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "-")
    .replace(/^-+|-+$/g, "")
    .slice(0, 255)
    .replace(/-+$/, "");
  return slug === "" ? null : slug;
}

/** `slug`, or `slug-2`, `slug-3`, … when taken; the number fits into the 255 characters. */
export function numberedSlug(slug: string, taken: ReadonlySet<string>): string {
  if (!taken.has(slug)) return slug;
  for (let number = 2; ; number += 1) {
    const suffix = `-${number}`;
    const candidate = slug.slice(0, 255 - suffix.length).replace(/-+$/, "") + suffix;
    if (!taken.has(candidate)) return candidate;
  }
}

/** A DNS label of at most 63 characters for a slug that may be longer. */
export function dnsLabel(slug: string, suffix = ""): string {
  return slug.slice(0, 63 - suffix.length).replace(/-+$/, "") + suffix;
}
