/** PostgreSQL error codes that verbs act on (SQLSTATE). Drizzle wraps the driver's error as its cause. */
function sqlState(error: unknown): string | null {
  for (let current = error; current instanceof Error; current = current.cause) {
    const code = (current as Error & { code?: unknown }).code;
    if (typeof code === "string") return code;
  }
  return null;
}

export function isUniqueViolation(error: unknown): boolean {
  return sqlState(error) === "23505";
}

const LOST_CONNECTION =
  /^(08...|57P0.|53300|CONNECTION_CLOSED|CONNECTION_ENDED|CONNECTION_DESTROYED|CONNECT_TIMEOUT|ECONNREFUSED|ECONNRESET|ETIMEDOUT|EPIPE|ENOTFOUND)$/;

/** True when the database gave a statement up (time-out, deadlock), so that the same request can succeed later. */
export function isDatabaseBusy(error: unknown): boolean {
  return /^(57014|40P01|40001|55P03)$/.test(sqlState(error) ?? "");
}

/** True when the database cannot be reached or is starting or stopping, so that trying again later makes sense. */
export function isDatabaseUnavailable(error: unknown): boolean {
  return LOST_CONNECTION.test(sqlState(error) ?? "");
}
