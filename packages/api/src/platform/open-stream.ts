import { tracked } from "@trpc/server";
import type { RequestContext } from "./request-context.ts";
import { type Admission, watchAdmission } from "./watch-admission.ts";

/** Opens a stream that ends when its reader leaves or the reader's credential does. */
export async function openStream<Row extends { id: number }, Data>(
  ctx: RequestContext,
  signal: AbortSignal | undefined,
  open: (ended: AbortSignal) => Promise<AsyncGenerator<Row>>,
  dataOf: (row: Row) => Data,
) {
  const admission = watchAdmission(ctx, signal ?? new AbortController().signal);
  try {
    return tracking(ctx, admission, await open(admission.signal), dataOf);
  } catch (error) {
    admission.end();
    throw error;
  }
}

/** Rows with their ids as tRPC tracks them, so that a client that reconnects goes on after the last one. */
async function* tracking<Row extends { id: number }, Data>(
  ctx: RequestContext,
  admission: Admission,
  rows: AsyncGenerator<Row>,
  dataOf: (row: Row) => Data,
) {
  try {
    for await (const row of rows) {
      yield tracked(String(row.id), dataOf(row));
      await ctx.untilWritable();
    }
    admission.rethrow();
  } finally {
    admission.end();
  }
}
