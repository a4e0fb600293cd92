import type { Reply, TestQuayside } from "./quayside.ts";

/** A tRPC mutation as REST callers would see it: its status, and its data or error as the body. */
export async function mutate(
  quayside: TestQuayside,
  path: string,
  input: unknown,
  token: string | undefined = quayside.adminToken,
): Promise<Reply> {
  const reply = await quayside.call("POST", `/trpc/${path}`, {
    rawBody: typeof input === "string" ? input : JSON.stringify(input),
    ...(token === "" ? {} : { token }),
  });
  return { ...reply, body: reply.body.error ?? reply.body.result.data ?? null };
}
