import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createTestDatabase, type TestDatabase } from "../support/database.ts";
import { expectProblem } from "../support/expect-errors.ts";
import { SECRETS, startTestQuayside, type TestQuayside } from "../support/quayside.ts";
import { connectTo } from "../support/sql.ts";
import { until } from "../support/until.ts";

const GATEWAY_SECRET = "gateway-secret-for-tests-only-00";
const PATH = "/v1/crm/internal/api-usage";
const HOUR_MS = 3_600_000;
const DAY_MS = 86_400_000;
const MAX = Number.MAX_SAFE_INTEGER;

let database: TestDatabase;
let quayside: TestQuayside;
let sql: ReturnType<typeof connectTo>;
let owner: { token: string };

// A database whose zone is not whole hours from Greenwich, where an hour or day that is not cut in UTC shows at once.
beforeAll(async () => {
  database = await createTestDatabase();
  sql = connectTo(database.url);
  await sql.unsafe(`ALTER DATABASE ${new URL(database.url).pathname.slice(1)} SET timezone TO 'Asia/Kathmandu'`);
  quayside = await startTestQuayside({ GATEWAY_SECRET, DATABASE_URL: database.url }, "api");
  owner = await quayside.signUp("owner");
});

afterAll(async () => {
  await sql?.end();
  await quayside?.stop();
  await database?.drop();
});

const bearer = (value = GATEWAY_SECRET) => ({ authorization: `Bearer ${value}` });
const post = (body: unknown, headers: Record<string, string> = bearer()) =>
  quayside.call("POST", PATH, { body, headers });
const report = (entries: unknown, key?: string) =>
  post({ entries }, key === undefined ? bearer() : { ...bearer(), "idempotency-key": key });
const newKey = async () => (await quayside.makeKey(owner.token)).id;
const ago = (ms: number) => new Date(Date.now() - ms).toISOString();
const hoursOf = async (id: string) => [
  ...(await sql<{ at: number; requests: number; errors: number }[]>`
    SELECT (extract(epoch FROM hour) * 1000)::float8 AS at, requests::float8, errors::float8
    FROM api_usage_hours WHERE api_key_id = ${id} ORDER BY hour`),
];
const daysOf = async (id: string) => [
  ...(await sql<{ day: string; requests: number; errors: number }[]>`
    SELECT day::text, requests::float8, errors::float8 FROM api_usage_days WHERE api_key_id = ${id} ORDER BY day`),
];

describe("reporting usage", () => {
  test("adds counts to the hour and the day (UTC), and the owner sees them", async () => {
    const id = await newKey();
    const hour = new Date(Math.floor((Date.now() - DAY_MS) / HOUR_MS) * HOUR_MS);
    const inside = new Date(hour.getTime() + 59 * 60_000).toISOString().replace("Z", "+00:00");
    const reply = await report([{ apiKeyId: id, hour: inside, requests: 7, errors: 2 }]);
    expect([reply.status, reply.body]).toEqual([200, { written: 1 }]);
    expect((await report([{ apiKeyId: id.toUpperCase(), hour: hour.toISOString(), requests: 3 }])).body.written).toBe(
      1,
    );
    expect(await hoursOf(id)).toEqual([{ at: hour.getTime(), requests: 10, errors: 2 }]);
    const day = hour.toISOString().slice(0, 10);
    expect(await daysOf(id)).toEqual([{ day, requests: 10, errors: 2 }]);
    const { body } = await quayside.call("GET", `/v1/crm/api-keys/${id}/usage?days=2`, { token: owner.token });
    expect(body.usage).toContainEqual({ day, requests: 10, errors: 2 });
  });

  test("sums what names one hour several times, in whatever zone, and counts every entry", async () => {
    const id = await newKey();
    const hour = Math.floor((Date.now() - 3 * HOUR_MS) / HOUR_MS) * HOUR_MS;
    const inZone = `${new Date(hour + 2 * HOUR_MS).toISOString().slice(0, 19)}+02:00`;
    const { body } = await report([
      { apiKeyId: id, hour: new Date(hour).toISOString(), requests: 1, errors: 1 },
      { apiKeyId: id, hour: inZone, requests: 20 },
      { apiKeyId: id, hour: new Date(hour + 1_000).toISOString(), requests: 300, errors: 400 },
    ]);
    expect(body).toEqual({ written: 3 });
    expect(await hoursOf(id)).toEqual([{ at: hour, requests: 321, errors: 401 }]);
  });

  test("skips unknown keys and goes on counting revoked ones", async () => {
    const id = await newKey();
    await quayside.call("DELETE", `/v1/crm/api-keys/${id}`, { token: owner.token });
    const { status, body } = await report([
      { apiKeyId: randomUUID(), hour: ago(0), requests: 5 },
      { apiKeyId: id, hour: ago(0), requests: 5 },
    ]);
    expect([status, body]).toEqual([200, { written: 1 }]);
    expect(await hoursOf(id)).toHaveLength(1);
  });

  test("refuses what is too old or ahead of time, entry by entry", async () => {
    const id = await newKey();
    const { status, body } = await report([
      { apiKeyId: id, hour: ago(35 * DAY_MS + 60_000), requests: 1 },
      { apiKeyId: id, hour: ago(35 * DAY_MS - 60_000), requests: 10 },
      { apiKeyId: id, hour: ago(-4 * 60_000), requests: 100 },
      { apiKeyId: id, hour: ago(-6 * 60_000), requests: 1_000 },
      { apiKeyId: id, hour: "0000-01-01T00:00:00Z", requests: 1 },
      { apiKeyId: id, hour: "9999-12-31T23:59:59-23:00", requests: 1 },
    ]);
    const [old, ahead] = ["hour is more than 35 days ago.", "hour is more than 5 minutes ahead."];
    expect(status).toBe(200);
    expect(body).toEqual({
      written: 2,
      refused: [
        { index: 0, message: old },
        { index: 3, message: ahead },
        { index: 4, message: old },
        { index: 5, message: ahead },
      ],
    });
    expect((await hoursOf(id)).map((row) => row.requests)).toEqual([10, 100]);
  });

  test("takes nothing, and 10,000 entries at once", async () => {
    const ids = await Promise.all(Array.from({ length: 5 }, newKey));
    expect((await report([])).body).toEqual({ written: 0 });
    const entries = Array.from({ length: 10_000 }, (_, i) => {
      return { apiKeyId: ids[i % 5], hour: ago(Math.floor(i / 5) * 1_000), requests: 2, errors: 1 };
    });
    const { status, body } = await report(entries);
    expect([status, body]).toEqual([200, { written: 10_000 }]);
    const days = (await Promise.all(ids.map((id) => daysOf(id)))).flat();
    expect(days.reduce((sum, row) => sum + row.requests, 0)).toBe(20_000);
    const more = await report([...entries, entries[0]]);
    expectProblem(more, 422, "validation_failed", /'entries' is not valid/);
    expect((await daysOf(ids[0] ?? "")).reduce((sum, row) => sum + row.requests, 0)).toBe(4_000);
  });

  test("stops counting at the largest number that JSON carries exactly", async () => {
    const id = await newKey();
    const entry = { apiKeyId: id, hour: ago(0), requests: MAX, errors: MAX };
    expect((await report(Array.from({ length: 10_000 }, () => entry))).body).toEqual({ written: 10_000 });
    expect((await report([entry])).status).toBe(200);
    const { status, body } = await quayside.call("GET", `/v1/crm/api-keys/${id}/usage?days=2`, { token: owner.token });
    expect(status).toBe(200);
    expect(body.usage).toContainEqual({ day: ago(0).slice(0, 10), requests: MAX, errors: MAX });
    const summary = await quayside.call("GET", `${PATH}/summary`, { headers: bearer() });
    expect([summary.status, summary.body.requests]).toEqual([200, MAX]);
    await sql`DELETE FROM api_usage_days WHERE api_key_id = ${id}`;
  });

  test("by several gateways at once loses nothing and waits in no circle", async () => {
    const ids = await Promise.all(Array.from({ length: 20 }, newKey));
    const hours = [0, 1, 2, 30].map((hours) => ago(hours * HOUR_MS));
    const entries = ids.flatMap((apiKeyId) => hours.map((hour) => ({ apiKeyId, hour, requests: 1, errors: 1 })));
    const replies = await Promise.all(
      Array.from({ length: 20 }, (_, i) => report(i % 2 === 0 ? entries : entries.toReversed())),
    );
    expect(replies.map((reply) => reply.body)).toEqual(replies.map(() => ({ written: 80 })));
    for (const id of ids) {
      expect((await hoursOf(id)).map((row) => row.requests)).toEqual([20, 20, 20, 20]);
      expect((await daysOf(id)).reduce((sum, row) => sum + row.errors, 0)).toBe(80);
    }
  });

  const entry = { apiKeyId: randomUUID(), hour: "2026-01-01T00:00:00Z", requests: 1 };
  test.each<[string, unknown, string]>([
    ["no entries", {}, "entries"],
    ["entries as an object", { entries: {} }, "entries"],
    ["an unknown field", { entries: [], colour: "red" }, "colour"],
    ["an entry that is null", { entries: [null] }, "entries.0"],
    ["no key", { entries: [{ ...entry, apiKeyId: undefined }] }, "entries.0.apiKeyId"],
    ["a key that is no uuid", { entries: [entry, { ...entry, apiKeyId: "k" }] }, "entries.1.apiKeyId"],
    ["no hour", { entries: [{ ...entry, hour: undefined }] }, "entries.0.hour"],
    ["an hour without a zone", { entries: [{ ...entry, hour: "2026-01-01T00:00:00" }] }, "entries.0.hour"],
    ["an hour with a NUL character", { entries: [{ ...entry, hour: "2026-01-01T00:00:00Z\u0000" }] }, "entries.0.hour"],
    ["an hour as number", { entries: [{ ...entry, hour: 1_767_225_600 }] }, "entries.0.hour"],
    ["no requests", { entries: [{ ...entry, requests: undefined }] }, "entries.0.requests"],
    ["requests below 0", { entries: [{ ...entry, requests: -1 }] }, "entries.0.requests"],
    ["half a request", { entries: [{ ...entry, requests: 0.5 }] }, "entries.0.requests"],
    ["requests as text", { entries: [{ ...entry, requests: "1" }] }, "entries.0.requests"],
    ["more requests than are exact", { entries: [{ ...entry, requests: MAX + 1 }] }, "entries.0.requests"],
    ["errors below 0", { entries: [{ ...entry, errors: -1 }] }, "entries.0.errors"],
    ["errors that are null", { entries: [{ ...entry, errors: null }] }, "entries.0.errors"],
    ["an unknown field of an entry", { entries: [{ ...entry, colour: "red" }] }, "entries.0.colour"],
  ])("with %s answers 422 and the name of the field", async (_, body, field) => {
    const reply = await post(body);
    expectProblem(reply, 422, "validation_failed");
    expect(reply.body.errors.map((issue: { field: string }) => issue.field)).toEqual([field]);
  });

  test("with a body of 4 MiB is read, and one past it is 413", async () => {
    const fill = (bytes: number) => `{"entries":[]${" ".repeat(bytes - 14)}}`;
    const send = (rawBody: string) => quayside.call("POST", PATH, { rawBody, headers: bearer() });
    expect((await send(fill(4_194_304))).body).toEqual({ written: 0 });
    expectProblem(await send(fill(4_194_305)), 413, "payload_too_large");
  });
});

describe("an Idempotency-Key", () => {
  test("lets a report that is sent again count once, with the same answer byte for byte", async () => {
    const id = await newKey();
    const entries = [
      { apiKeyId: id, hour: ago(0), requests: 4 },
      { apiKeyId: id, hour: ago(40 * DAY_MS), requests: 4 },
    ];
    const first = await report(entries, "report-1");
    expect([first.status, first.body.written, first.headers.get("idempotency-replayed")]).toEqual([200, 1, null]);
    const again = await report(entries, "report-1");
    expect([again.status, again.text, again.headers.get("idempotency-replayed")]).toEqual([200, first.text, "true"]);
    expect(await hoursOf(id)).toEqual([expect.objectContaining({ requests: 4 })]);
  });

  test("with another body is 409 and counts nothing", async () => {
    const id = await newKey();
    const hour = ago(0);
    await report([{ apiKeyId: id, hour, requests: 4 }], "report-2");
    const reply = await report([{ apiKeyId: id, hour, requests: 5 }], "report-2");
    expectProblem(reply, 409, "idempotency_key_reused");
    expect(await hoursOf(id)).toEqual([expect.objectContaining({ requests: 4 })]);
  });

  test("of a report that still runs is 409, and when it is done the answer is there", async () => {
    const id = await newKey();
    const entries = [{ apiKeyId: id, hour: ago(0), requests: 1 }];
    let running: ReturnType<typeof report> | null = null;
    await report(entries);
    await sql.begin(async (tx) => {
      await tx`SELECT 1 FROM api_usage_hours WHERE api_key_id = ${id} FOR UPDATE`;
      running = report(entries, "report-3");
      await until("the report waits for the row", waitingReport);
      const second = await report(entries, "report-3");
      expectProblem(second, 409, "idempotency_in_progress");
      expect(second.headers.get("retry-after")).toBe("1");
    });
    expect(await running).toMatchObject({ body: { written: 1 } });
    expect((await report(entries, "report-3")).headers.get("idempotency-replayed")).toBe("true");
    expect(await hoursOf(id)).toEqual([expect.objectContaining({ requests: 2 })]);
  });

  test("sent many times at once counts once", async () => {
    const id = await newKey();
    const entries = [{ apiKeyId: id, hour: ago(0), requests: 1 }];
    const replies = await Promise.all(Array.from({ length: 15 }, () => report(entries, "report-4")));
    expect(replies.filter((reply) => reply.status === 200 && !reply.headers.has("idempotency-replayed"))).toHaveLength(
      1,
    );
    for (const reply of replies) expect([200, 409]).toContain(reply.status);
    expect(await hoursOf(id)).toEqual([expect.objectContaining({ requests: 1 })]);
  });

  test("of a report that was refused can be used again", async () => {
    const id = await newKey();
    expect((await report([{ apiKeyId: id, hour: "soon", requests: 1 }], "report-5")).status).toBe(422);
    const reply = await report([{ apiKeyId: id, hour: ago(0), requests: 1 }], "report-5");
    expect([reply.status, reply.headers.get("idempotency-replayed")]).toEqual([200, null]);
  });

  test.each(["k".repeat(255), '"quoted"'])("'%s' is accepted", async (key) => {
    expect((await report([], key)).status).toBe(200);
  });

  test.each(["k".repeat(256), '""', "cl\u00e9"])("'%s' is refused with 400", async (key) =>
    expectProblem(await report([], key), 400, "invalid_request", /Idempotency-Key must be/),
  );
});

/** The database process that has a report waiting for a row, or null. */
async function waitingReport(): Promise<number | null> {
  const [row] = await sql<{ pid: number }[]>`
    SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'
      AND query LIKE '%INSERT INTO api_usage_hours%' AND application_name LIKE 'quayside-%'`;
  return row?.pid ?? null;
}

test("a report whose database connection is cut off leaves nothing behind, and can be sent again", async () => {
  const [id, blocked] = (await Promise.all([newKey(), newKey()])).sort() as [string, string];
  await report([{ apiKeyId: blocked, hour: ago(0), requests: 1 }]);
  const entries = [id, blocked].map((apiKeyId) => ({ apiKeyId, hour: ago(0), requests: 5 }));
  const cut = await sql.begin(async (tx) => {
    // The first key's hour is written when the report comes to wait for the second.
    await tx`SELECT 1 FROM api_usage_hours WHERE api_key_id = ${blocked} FOR UPDATE`;
    const sent = report(entries, "report-cut");
    const pid = await until("the report waits for the row", waitingReport);
    await sql`SELECT pg_terminate_backend(${pid})`;
    return [await sent];
  });
  for (const reply of cut) expectProblem(reply, 503, "database_unavailable");
  expect([await hoursOf(id), await daysOf(id)]).toEqual([[], []]);
  expect(await hoursOf(blocked)).toEqual([expect.objectContaining({ requests: 1 })]);
  const again = await report(entries, "report-cut");
  expect([again.status, again.body, again.headers.get("idempotency-replayed")]).toEqual([200, { written: 2 }, null]);
  expect(await daysOf(id)).toEqual([expect.objectContaining({ requests: 5 })]);
});

describe("the door", () => {
  test("answers 401 to any credential but the gateway's, before it looks at the input", async () => {
    expectProblem(await post({}, {}), 401, "sign_in_required");
    expectProblem(await post({}, bearer("wrong")), 401, "invalid_credentials");
    expectProblem(await post({}, bearer(quayside.adminToken)), 401, "invalid_credentials");
    expectProblem(await post({}, { "x-internal-secret": SECRETS.INTERNAL_API_SECRET }), 401, "sign_in_required");
  });

  test("answers 503 while the secret is unset", async () => {
    // Outside production a missing secret is generated.
    const closed = await startTestQuayside({ NODE_ENV: "production" }, "api");
    try {
      const reply = await closed.call("POST", PATH, { body: {}, headers: bearer() });
      expectProblem(reply, 503, "not_configured", /no GATEWAY_SECRET/);
      expectProblem(await closed.call("GET", `${PATH}/summary`, { headers: bearer() }), 503, "not_configured");
    } finally {
      await closed.stop();
    }
  });
});
