import postgres from "postgres";
import { migrate } from "./migrate.ts";

const MIGRATIONS = new URL("../../migrations/", import.meta.url);

/** Applies this release's migrations; returns the names of the new ones. Safe when several processes start at once. */
export async function migrateDatabase(url: string): Promise<string[]> {
  const sql = postgres(url, { max: 2, onnotice: () => {}, connection: { application_name: "quayside-migrate" } });
  try {
    return (await migrate(sql, { directory: MIGRATIONS })).applied;
  } finally {
    await sql.end({ timeout: 5 });
  }
}
