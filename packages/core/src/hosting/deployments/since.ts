const UNIT_MS: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };
const DATE_TIME = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(:\d{2}(\.\d{1,9})?)?(Z|[+-]\d{2}:\d{2})$/;

/** The moment that `90s`, `10m`, `2h`, `1d` ago or an RFC 3339 date-time names; null when it is neither. */
export function parseSince(text: string, now: Date): Date | null {
  const relative = /^(\d{1,9})([smhd])$/.exec(text);
  if (relative) {
    const ms = Number(relative[1]) * (UNIT_MS[relative[2] ?? ""] ?? 0);
    // Further back than PostgreSQL's calendar would be an error there; the epoch is before every line.
    return new Date(Math.max(0, now.getTime() - ms));
  }
  if (!DATE_TIME.test(text)) return null;
  const at = new Date(text);
  return Number.isNaN(at.getTime()) || at.getUTCFullYear() < 1970 ? null : at;
}
