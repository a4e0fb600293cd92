import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { expectEnvelope } from "../support/expect-errors.ts";
import { startTestQuayside, type TestQuayside } from "../support/quayside.ts";
import { createEndpoint, WEBHOOKS } from "../support/webhooks.ts";

const NEW = { url: "https://hooks.example/in", events: ["resource.created"] };
const EVENTS = [
  "resource.created",
  "resource.deleted",
  "resource.updated",
  "alert.triggered",
  "alert.resolved",
  "cost.threshold_exceeded",
  "sync.completed",
  "sync.failed",
  "*",
];

let quayside: TestQuayside;
let token: string;
let id: string;

beforeAll(async () => {
  quayside = await startTestQuayside({}, "api");
  ({ token } = await quayside.signUp("owner"));
  ({ id } = await createEndpoint(quayside, token));
});

afterAll(() => quayside?.stop());

const create = (fields: object) => quayside.call("POST", WEBHOOKS, { token, body: { ...NEW, ...fields } });
const change = (fields: object) => quayside.call("PATCH", `${WEBHOOKS}/${id}`, { token, body: fields });
const recover = (fields: object) => quayside.call("POST", `${WEBHOOKS}/${id}/recover`, { token, body: fields });
const read = (query: string) => quayside.call("GET", `${WEBHOOKS}/${id}?${query}`, { token });

const SENTENCE = "is refused with 422 and the name of the field";

describe("a body", () => {
  const wrong: [string, object, string][] = [
    ["an empty URL", { url: "" }, "url"],
    ["a URL without a scheme", { url: "hooks.example" }, "url"],
    ["a URL of another scheme", { url: "ftp://hooks.example" }, "url"],
    ["a script as URL", { url: "javascript:alert(1)" }, "url"],
    ["a file as URL", { url: "file:///etc/passwd" }, "url"],
    ["a URL with a password", { url: "https://me:secret@hooks.example" }, "url"],
    ["a URL with a space", { url: "https://hooks.example/a b" }, "url"],
    ["a URL with NUL", { url: "https://hooks.example/\u0000" }, "url"],
    ["a URL of 2,049 characters", { url: `https://hooks.example/${"x".repeat(2_027)}` }, "url"],
    ["null as URL", { url: null }, "url"],
    ["an object as URL", { url: {} }, "url"],
    ["no event", { events: [] }, "events"],
    ["one event as text", { events: "resource.created" }, "events"],
    ["an event as null", { events: [null] }, "events.0"],
    ["an empty event", { events: [""] }, "events.0"],
    ["an event with NUL", { events: ["a\u0000"] }, "events.0"],
    ["an event of 101 characters", { events: ["e".repeat(101)] }, "events.0"],
    ["21 events", { events: Array.from({ length: 21 }, () => "*") }, "events"],
    ["100,000 events", { events: Array.from({ length: 100_000 }, () => 1) }, "events"],
    ["a secret of 15 characters", { secret: "s".repeat(15) }, "secret"],
    ["a secret of 257 characters", { secret: "s".repeat(257) }, "secret"],
    ["a secret of spaces", { secret: " ".repeat(20) }, "secret"],
    ["a secret with a line break", { secret: "0123456789abcdef\n" }, "secret"],
    ["a secret with half an emoji", { secret: "0123456789abcdef\ud83d" }, "secret"],
    ["a secret that is no base64 after whsec_", { secret: "whsec_!!!!!!!!!!!!!!!!!!!!" }, "secret"],
    ["a secret whose base64 cannot be read", { secret: "whsec_MfKQ9r8GKYqrTwjUPD8IL" }, "secret"],
    ["a secret whose padding is wrong", { secret: "whsec_MfKQ9r8GKYqrTwjUPD8I=" }, "secret"],
    ["a secret that is short after whsec_", { secret: "whsec_c2hvcnQ=short" }, "secret"],
    ["a secret as number", { secret: 1_234_567_890_123_456 }, "secret"],
    ["null as secret", { secret: null }, "secret"],
    ["an unknown field", { name: "mine" }, "name"],
    ["the area", { area: "crm" }, "area"],
  ];

  const namesOf = (reply: { body: { error: { issues: { field: string }[] } } }) => [
    ...new Set(reply.body.error.issues.map(({ field }) => field)),
  ];

  test.each(wrong)(`to create with %s ${SENTENCE}`, async (_, fields, field) => {
    const reply = await create(fields);
    expectEnvelope(reply, 422, "validation_failed");
    expect(namesOf(reply)).toEqual([field]);
    expect(reply.text.length).toBeLessThan(2_000);
  });

  test.each(wrong)(`to change with %s ${SENTENCE}`, async (_, fields, field) => {
    const reply = await change(fields);
    expectEnvelope(reply, 422, "validation_failed");
    expect(namesOf(reply)).toEqual([field]);
  });

  test.each([
    ["text as enabled", { enabled: "false" }, "enabled"],
    ["null as enabled", { enabled: null }, "enabled"],
    ["a reason", { disabledReason: "x" }, "disabledReason"],
  ])(`to change with %s ${SENTENCE}`, async (_, fields, field) => {
    const reply = await change(fields);
    expectEnvelope(reply, 422, "validation_failed");
    expect(namesOf(reply)).toEqual([field]);
  });

  test("to create as disabled is refused", async () => {
    expectEnvelope(await create({ enabled: false }), 422, "validation_failed");
  });

  test("to create names all faults at once", async () => {
    const reply = await quayside.call("POST", WEBHOOKS, { token, body: {} });
    expectEnvelope(reply, 422, "validation_failed");
    expect(namesOf(reply)).toEqual(["url", "events"]);
  });

  test.each([
    ["create", (events: string[]) => create({ events })],
    ["change", (events: string[]) => change({ events })],
  ])("to %s with unknown events names them and the right ones", async (_, send) => {
    const reply = await send(["resource.created", "person.created", "resource.*", "webhook.test"]);
    expect(reply.status).toBe(422);
    expect(reply.body.error).toMatchObject({ code: "validation_failed", allowed: EVENTS });
    expect(namesOf(reply)).toEqual(["events.1", "events.2", "events.3"]);
    expect(reply.body.error.message).toContain("'person.created' is no event type");
  });

  test.each([
    ["16 characters", "0123456789abcdef"],
    ["256 characters", "s".repeat(256)],
    ["spaces, letters and signs of any script", "ключ 🔑 для подписи"],
    ["a key of Standard Webhooks", "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"],
    ["URL-safe base64", "whsec_MfKQ9r8GKYqrTwjUPD8-LPZI_2LaLaSw"],
  ])("takes a secret of %s", async (_, secret) => {
    const reply = await create({ secret });
    expect([reply.status, reply.body.secret]).toEqual([201, secret]);
  });

  test.each(EVENTS)("takes the event %s", async (event) => {
    const reply = await create({ events: [event, event] });
    expect([reply.status, reply.body.events]).toEqual([201, [event]]);
  });

  test("must be a JSON object of at most 1 MiB", async () => {
    const send = (rawBody: string, headers = {}) => quayside.call("POST", WEBHOOKS, { token, rawBody, headers });
    expectEnvelope(await send("{"), 400, "malformed_body");
    expectEnvelope(await send("[]"), 400, "malformed_body");
    expectEnvelope(await send("{}", { "content-type": "text/plain" }), 415, "unsupported_media_type");
    expectEnvelope(await send(`{"url":"${"n".repeat(1_048_576)}"}`), 413, "payload_too_large");
    expectEnvelope(await send('{"__proto__":{"polluted":1}}'), 422, "validation_failed");
    expectEnvelope(await send(`{"events":${"[".repeat(10_000)}${"]".repeat(10_000)}}`), 422, "validation_failed");
  });

  test.each([
    ["no since", {}, "since"],
    ["since as a duration", { since: "1d" }, "since"],
    ["since without an offset", { since: "2026-01-01T00:00:00" }, "since"],
    ["since in the year 0", { since: "0000-01-01T00:00:00Z" }, "since"],
    ["until as a number", { since: "2026-01-01T00:00:00Z", until: 5 }, "until"],
    ["until before since", { since: "2026-01-02T00:00:00Z", until: "2026-01-01T00:00:00Z" }, "until"],
    ["until at since", { since: "2026-01-02T00:00:00Z", until: "2026-01-02T01:00:00+01:00" }, "until"],
    ["an unknown field", { since: "2026-01-02T00:00:00Z", status: "failed" }, "status"],
  ])(`to recover with %s ${SENTENCE}`, async (_, fields, field) => {
    const reply = await recover(fields);
    expectEnvelope(reply, 422, "validation_failed");
    expect(namesOf(reply)).toEqual([field]);
  });

  test("with a field that a path does not know is refused", async () => {
    const reply = await quayside.call("POST", `${WEBHOOKS}/${id}/test`, { token, body: { type: "x" } });
    expectEnvelope(reply, 422, "validation_failed");
  });
});

describe("a query", () => {
  test.each([
    ["limit=0", "limit"],
    ["limit=201", "limit"],
    ["limit=1.5", "limit"],
    ["limit=ten", "limit"],
    ["limit=", "limit"],
    ["limit=1&limit=2", "limit"],
    ["status=sent", "status"],
    ["status=", "status"],
    ["cursor=", "cursor"],
    ["offset=5", "offset"],
    ["limit[gt]=5", "limit"],
  ])("%s is refused with 422 and the name of the field", async (query, field) => {
    const reply = await read(query);
    expectEnvelope(reply, 422, "validation_failed");
    expect(reply.body.error.issues[0].field).toBe(field);
  });

  test.each(["x", "AAAA", `${"A".repeat(4_096)}`, "%00", "ä"])("with the cursor %s is 422", async (cursor) => {
    expectEnvelope(await read(`cursor=${cursor}`), 422, "invalid_cursor");
  });
});
