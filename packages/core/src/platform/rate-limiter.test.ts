import { type DatabasePool, openDatabase } from "@quayside/db";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { createTestDatabase, type TestDatabase } from "../../../../test/support/database.ts";
import { ManualClock, quietLog } from "../../../../test/support/services.ts";
import { RateLimiter, WINDOW_MS } from "./rate-limiter.ts";

let database: TestDatabase;
let db: DatabasePool;
let buckets = 0;

beforeAll(async () => {
  database = await createTestDatabase();
  db = openDatabase(database.url, { poolSize: 10, applicationName: "limiter-test" });
});

afterAll(async () => {
  await db.close();
  await database.drop();
});

/** Each test has a bucket of its own; the clock starts at a full minute. */
function setUp() {
  const clock = new ManualClock();
  buckets += 1;
  return { clock, name: `bucket-${buckets}`, limiter: openLimiter(clock) };
}

function openLimiter(clock: ManualClock): RateLimiter {
  const limiter = new RateLimiter(db, clock, quietLog);
  onTestFinished(() => limiter.close());
  return limiter;
}

function hitTimes(limiter: RateLimiter, name: string, limit: number, times: number): boolean[] {
  return Array.from({ length: times }, () => limiter.hit(name, limit).allowed);
}

test("a minute lets through exactly the limit, counting down", () => {
  const { limiter, name } = setUp();
  const decisions = Array.from({ length: 5 }, () => limiter.hit(name, 3));
  expect(decisions.map(({ allowed }) => allowed)).toEqual([true, true, true, false, false]);
  expect(decisions.map(({ remaining }) => remaining)).toEqual([2, 1, 0, 0, 0]);
  expect(decisions[3]?.resetMs).toBe(WINDOW_MS);
});

test("a refused hit is not counted, so that patience is rewarded", () => {
  const { limiter, name, clock } = setUp();
  hitTimes(limiter, name, 10, 500);
  clock.advance(2 * WINDOW_MS - 1);
  expect(limiter.hit(name, 10).allowed).toBe(true);
});

test("the minute slides: as the last one passes, its hits weigh less and less", () => {
  const { limiter, name, clock } = setUp();
  hitTimes(limiter, name, 10, 10);
  clock.advance(WINDOW_MS);
  expect(hitTimes(limiter, name, 10, 1)).toEqual([false]);
  clock.advance(WINDOW_MS / 2);
  expect(hitTimes(limiter, name, 10, 6)).toEqual([true, true, true, true, true, false]);
});

test("hits are forgotten two minutes later", () => {
  const { limiter, name, clock } = setUp();
  hitTimes(limiter, name, 3, 3);
  clock.advance(2 * WINDOW_MS);
  expect(hitTimes(limiter, name, 3, 4)).toEqual([true, true, true, false]);
});

test("peeking counts nothing", () => {
  const { limiter, name } = setUp();
  for (let i = 0; i < 10; i += 1) expect(limiter.peek(name, 1).allowed).toBe(true);
  expect(limiter.hit(name, 1).allowed).toBe(true);
  expect(limiter.peek(name, 1).allowed).toBe(false);
});

test("buckets do not share their hits", () => {
  const { limiter, name } = setUp();
  hitTimes(limiter, name, 1, 1);
  expect(limiter.hit(`${name}:other`, 1).allowed).toBe(true);
});

test("two processes see each other's hits after they have stored them", async () => {
  const { limiter, name, clock } = setUp();
  const other = openLimiter(clock);
  expect(hitTimes(limiter, name, 10, 6)).not.toContain(false);
  expect(hitTimes(other, name, 10, 3)).not.toContain(false);
  await limiter.flush();
  await other.flush();
  expect(hitTimes(other, name, 10, 2)).toEqual([true, false]);
  await other.flush();
  expect(limiter.hit(name, 10).allowed).toBe(true);
  await limiter.flush();
  expect(limiter.hit(name, 10).allowed).toBe(false);
});

test("a process that starts late learns of the minute before", async () => {
  const { limiter, name, clock } = setUp();
  hitTimes(limiter, name, 10, 10);
  await limiter.flush();
  clock.advance(WINDOW_MS);
  const late = openLimiter(clock);
  expect(late.hit(name, 10).allowed).toBe(true);
  await late.flush();
  expect(late.hit(name, 10).allowed).toBe(false);
});

test("a minute that turns while counts are being stored leaves none of them in the new one", async () => {
  const { limiter, name, clock } = setUp();
  hitTimes(limiter, name, 4, 4);
  const storing = limiter.flush();
  clock.advance(WINDOW_MS + WINDOW_MS / 2);
  expect(hitTimes(limiter, name, 4, 3)).toEqual([true, true, false]);
  await storing;
  await limiter.flush();
  expect(limiter.peek(name, 4)).toMatchObject({ allowed: false, remaining: 0 });
  const rows = await db.sql`
    SELECT count::int FROM rate_limit_windows WHERE bucket = ${name} ORDER BY window_start`;
  expect(rows.map((row) => row.count)).toEqual([4, 2]);
});

test("counts that could not be stored are stored later", async () => {
  const { name, clock } = setUp();
  const broken = openDatabase(database.url.replace(/\/[^/]*$/, "/no_such_database"), {
    poolSize: 1,
    applicationName: "broken",
  });
  onTestFinished(() => broken.close());
  const switching = { ...db, sql: broken.sql };
  const limiter = new RateLimiter(switching, clock, quietLog);
  onTestFinished(() => limiter.close());
  hitTimes(limiter, name, 10, 7);
  await limiter.flush();
  switching.sql = db.sql;
  await limiter.flush();
  const [row] = await db.sql`SELECT count::int FROM rate_limit_windows WHERE bucket = ${name}`;
  expect(row?.count).toBe(7);
});

test("the exact limiter lets through exactly the limit, however many ask at once", async () => {
  const { limiter, name, clock } = setUp();
  const other = openLimiter(clock);
  const decisions = await Promise.all(
    Array.from({ length: 50 }, (_, i) => (i % 2 === 0 ? limiter : other).hitExactly(name, 7)),
  );
  expect(decisions.filter(({ allowed }) => allowed)).toHaveLength(7);
  expect(decisions.filter(({ allowed, remaining }) => !allowed && remaining > 0)).toEqual([]);
});

test("the exact limiter counts down, slides, and lets in again", async () => {
  const { limiter, name, clock } = setUp();
  const remaining: number[] = [];
  for (let i = 0; i < 4; i += 1) remaining.push((await limiter.hitExactly(name, 4)).remaining);
  expect(remaining).toEqual([3, 2, 1, 0]);
  expect(await limiter.hitExactly(name, 4)).toMatchObject({ allowed: false, remaining: 0, resetMs: WINDOW_MS });
  clock.advance(WINDOW_MS);
  expect((await limiter.hitExactly(name, 4)).allowed).toBe(false);
  clock.advance(WINDOW_MS / 2);
  expect((await limiter.hitExactly(name, 4)).allowed).toBe(true);
  expect((await limiter.hitExactly(name, 4)).allowed).toBe(true);
  expect((await limiter.hitExactly(name, 4)).allowed).toBe(false);
});
