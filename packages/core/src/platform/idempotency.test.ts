import { type ErrorCode, PlatformError } from "@quayside/contracts";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { asUser } from "../../../../test/support/actors.ts";
import { openTestServices, type TestServices } from "../../../../test/support/services.ts";
import type { Context } from "./context.ts";
import { runIdempotently } from "./idempotency.ts";

const HOUR_MS = 3_600_000;
let world: TestServices;
let owner: Context;
let keys = 0;

beforeAll(async () => {
  world = await openTestServices();
  owner = await asUser(world, "owner");
});

afterAll(() => world.close());

function request(fields: { body?: string; key?: string; route?: string } = {}) {
  keys += 1;
  return { key: `key-${keys}`, route: "POST /things", scope: "write" as const, body: '{"a":1}', ...fields };
}

const answer = (body: string, status = 201) => vi.fn(async () => ({ status, body }));

async function codeOf(promise: Promise<unknown>): Promise<ErrorCode | "none"> {
  try {
    await promise;
    return "none";
  } catch (error) {
    if (error instanceof PlatformError) return error.code;
    throw error;
  }
}

test("the first response is replayed byte for byte, and the work is done once", async () => {
  const asked = request();
  const work = answer('{"id":"é","n":1.0}');
  expect(await runIdempotently(owner, asked, work)).toEqual({
    status: 201,
    body: '{"id":"é","n":1.0}',
    replayed: false,
  });
  expect(await runIdempotently(owner, asked, work)).toEqual({
    status: 201,
    body: '{"id":"é","n":1.0}',
    replayed: true,
  });
  expect(work).toHaveBeenCalledTimes(1);
});

test("the same key with another body is refused", async () => {
  const asked = request();
  await runIdempotently(owner, asked, answer("{}"));
  const work = answer("{}");
  expect(await codeOf(runIdempotently(owner, { ...asked, body: '{"a":2}' }, work))).toBe("idempotency_key_reused");
  expect(work).not.toHaveBeenCalled();
});

test("while the first request runs, a second one is told to wait", async () => {
  const asked = request();
  const [working, gate] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const first = runIdempotently(owner, asked, async () => {
    working.resolve();
    await gate.promise;
    return { status: 200, body: "{}" };
  });
  await working.promise;
  const second = answer("{}");
  expect(await codeOf(runIdempotently(owner, asked, second))).toBe("idempotency_in_progress");
  gate.resolve();
  expect(await first).toMatchObject({ replayed: false });
  expect(second).not.toHaveBeenCalled();
});

test("of twenty at once, one does the work, and the others wait or are shown its answer", async () => {
  const asked = request();
  const work = answer("{}");
  const outcomes = await Promise.all(Array.from({ length: 20 }, () => codeOf(runIdempotently(owner, asked, work))));
  expect(work).toHaveBeenCalledTimes(1);
  expect(new Set([...outcomes, "none", "idempotency_in_progress"])).toEqual(
    new Set(["none", "idempotency_in_progress"]),
  );
});

test("a request that failed is forgotten, so that it can be mended", async () => {
  const asked = request();
  const failing = runIdempotently(owner, asked, () => Promise.reject(new Error("bad luck")));
  await expect(failing).rejects.toThrow("bad luck");
  expect(await runIdempotently(owner, { ...asked, body: "{}" }, answer("ok"))).toMatchObject({
    body: "ok",
    replayed: false,
  });
});

test("organizations and routes do not share keys", async () => {
  const stranger = await asUser(world, "stranger");
  const asked = request();
  await runIdempotently(owner, asked, answer("mine"));
  expect(await runIdempotently(stranger, asked, answer("theirs"))).toMatchObject({ body: "theirs", replayed: false });
  const elsewhere = { ...asked, route: "POST /others" };
  expect(await runIdempotently(owner, elsewhere, answer("other"))).toMatchObject({ body: "other", replayed: false });
});

test("a key lasts for 24 hours", async () => {
  const asked = request();
  await runIdempotently(owner, asked, answer("first"));
  world.clock.advance(24 * HOUR_MS);
  expect(await runIdempotently(owner, asked, answer("second"))).toMatchObject({ body: "first", replayed: true });
  world.clock.advance(1);
  expect(await runIdempotently(owner, asked, answer("second"))).toMatchObject({ body: "second", replayed: false });
});

test("a request whose process dies leaves neither a lock nor a change behind", async () => {
  const asked = request();
  const [working, gate] = [Promise.withResolvers<number>(), Promise.withResolvers<void>()];
  const dying = runIdempotently(owner, asked, async (ctx) => {
    await ctx.db.sql`UPDATE users SET email = 'half@example.com' WHERE id = ${owner.principal?.user.id ?? 0}`;
    const [row] = await ctx.db.sql<{ pid: number }[]>`SELECT pg_backend_pid() AS pid`;
    working.resolve(row?.pid ?? 0);
    await gate.promise;
    return { status: 200, body: "dead" };
  });
  const outcome = expect(dying).rejects.toThrow();
  await world.services.db.sql`SELECT pg_terminate_backend(${await working.promise})`;
  gate.resolve();
  await outcome;
  expect(await runIdempotently(owner, asked, answer("second"))).toMatchObject({ body: "second", replayed: false });
  expect(await world.services.db.sql`SELECT 1 FROM users WHERE email = 'half@example.com'`).toEqual([]);
});

test("what the work changed is there when, and only when, its response is stored", async () => {
  const asked = request();
  const write = (ctx: Context) => ctx.db.sql`UPDATE users SET email = 'kept@example.com' WHERE name = 'owner'`;
  const failing = runIdempotently(owner, asked, async (ctx) => {
    await write(ctx);
    throw new Error("after the change");
  });
  await expect(failing).rejects.toThrow("after the change");
  expect(await world.services.db.sql`SELECT 1 FROM users WHERE email = 'kept@example.com'`).toEqual([]);
  await runIdempotently(owner, asked, async (ctx) => {
    await write(ctx);
    return { status: 200, body: "{}" };
  });
  expect(await world.services.db.sql`SELECT 1 FROM users WHERE email = 'kept@example.com'`).toHaveLength(1);
});

test("the stored response is sealed", async () => {
  const asked = request();
  await runIdempotently(owner, asked, answer('{"secret":"qs_live_abc"}'));
  const [row] = await world.services.db.sql<{ body: Buffer }[]>`
    SELECT response_body AS body FROM idempotency_keys WHERE key = ${asked.key}`;
  expect(row?.body.length).toBeGreaterThan(20);
  expect(row?.body.includes("qs_live_abc")).toBe(false);
});

test("a quoted key is the same as a bare one; an empty, overlong or unprintable one is refused", async () => {
  const asked = request();
  await runIdempotently(owner, asked, answer("one"));
  expect(await runIdempotently(owner, { ...asked, key: `"${asked.key}"` }, answer("two"))).toMatchObject({
    replayed: true,
  });
  for (const key of ["", "  ", '""', "x".repeat(256), "tab\tkey", "schlüssel"]) {
    expect(await codeOf(runIdempotently(owner, request({ key }), answer("no")))).toBe("invalid_request");
  }
});
