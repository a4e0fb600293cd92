import postgres from "postgres";

/** A connection to a test's database, for what no route can do. End it in `afterAll`. */
export function connectTo(databaseUrl: string) {
  return postgres(databaseUrl, { max: 2, onnotice: () => undefined });
}
