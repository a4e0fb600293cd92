import type { Context } from "./context.ts";

const TIMEOUT_MS = 2_000;

/** Whether the database answers within 2 s. Open to all: it says nothing but up or down. */
export async function checkDatabase(ctx: Context): Promise<"up" | "down"> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<"down">((resolve) => {
    timer = setTimeout(() => resolve("down"), TIMEOUT_MS);
  });
  const answer = ctx.db.sql`SELECT 1`.then(
    () => "up" as const,
    () => "down" as const,
  );
  try {
    return await Promise.race([answer, late]);
  } finally {
    clearTimeout(timer);
  }
}
