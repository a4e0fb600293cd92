import { randomUUID } from "node:crypto";
import { expect } from "vitest";
import { type Owner, signUpOwner } from "./organizations.ts";
import type { CallOptions, Reply, TestQuayside } from "./quayside.ts";

/** People as one organization's caller sees them over REST. */
export interface People extends Owner {
  call(method: string, path: string, options?: CallOptions): Promise<Reply>;
  list(query?: string): Promise<Reply>;
  read(id: string, query?: string): Promise<Reply>;
  patch(id: string, body: unknown): Promise<Reply>;
  upsert(id: string, body: unknown, headers?: Record<string, string>): Promise<Reply>;
  bulk(operations: unknown, headers?: Record<string, string>): Promise<Reply>;
  /** A new person; the id. */
  make(fields?: object): Promise<string>;
}

export async function signUpForPeople(quayside: TestQuayside, name: string): Promise<People> {
  return peopleOf(quayside, await signUpOwner(quayside, name));
}

export function peopleOf(quayside: TestQuayside, owner: Owner): People {
  const call = (method: string, path: string, options: CallOptions = {}) =>
    quayside.call(method, `/v1/crm/people${path}`, { token: owner.token, ...options });
  const upsert: People["upsert"] = (id, body, headers = {}) => call("POST", `/${id}/upsert`, { body, headers });
  return {
    ...owner,
    call,
    upsert,
    list: (query = "") => call("GET", query === "" || query.startsWith("?") ? query : `?${query}`),
    read: (id, query = "") => call("GET", query === "" ? `/${id}` : `/${id}?${query}`),
    patch: (id, body) => call("PATCH", `/${id}`, { body }),
    bulk: (operations, headers = {}) => call("POST", "/bulk", { body: { operations }, headers }),
    async make(fields = {}) {
      const reply = await upsert(randomUUID(), fields);
      expect(reply.status, reply.text).toBe(201);
      return reply.body.id;
    },
  };
}

/** Names in the order in which a list gave them. */
export function namesIn({ body }: Reply): (string | null)[] {
  return body.data.map((person: { name: string | null }) => person.name);
}

export function idsIn({ body }: Reply): string[] {
  return body.data.map((person: { id: string }) => person.id);
}

export function freshIds(count: number): string[] {
  return Array.from({ length: count }, () => randomUUID());
}
