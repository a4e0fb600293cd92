import { expect } from "vitest";
import type { Reply, TestQuayside } from "./quayside.ts";

/** A user, and the organization whose data the user's session works on. */
export interface Owner {
  token: string;
  organizationId: string;
}

export async function signUpOwner(quayside: TestQuayside, name: string): Promise<Owner> {
  const { token } = await quayside.signUp(name);
  const whoami = await quayside.call("GET", "/api/v1/whoami", { token });
  return { token, organizationId: whoami.body.organization.id };
}

const MAX_IDS = 2_000;

/** Ids of all pages of `{data, next_cursor}`, one after another. `query` begins with a parameter. */
export async function walkPages(read: (query: string) => Promise<Reply>, query: string): Promise<string[]> {
  const ids: string[] = [];
  let cursor = "";
  do {
    const reply = await read(`?${query}${cursor}`);
    expect(reply.status, reply.text).toBe(200);
    ids.push(...reply.body.data.map((record: { id: string }) => record.id));
    cursor = reply.body.next_cursor === null ? "" : `&cursor=${reply.body.next_cursor}`;
  } while (cursor !== "" && ids.length < MAX_IDS);
  return ids;
}
