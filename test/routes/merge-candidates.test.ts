import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { mutate } from "../support/call-procedure.ts";
import { expectProblem } from "../support/expect-errors.ts";
import { startTestQuayside, type TestQuayside } from "../support/quayside.ts";

const NO_SUCH_ID = "00000000-0000-4000-8000-000000000000";
const ADA = { name: "Ada Lovelace", email: "ada@acme.com", attributes: { mobile: "+44 7700 900123" } };

let quayside: TestQuayside;
let owner: string;
let stranger: string;
let person: string;

beforeAll(async () => {
  quayside = await startTestQuayside({}, "api");
  [{ token: owner }, { token: stranger }] = await Promise.all([quayside.signUp("owner"), quayside.signUp("stranger")]);
  person = await add(ADA);
});

afterAll(() => quayside?.stop());

async function add(fields: object, token = owner): Promise<string> {
  const reply = await quayside.call("POST", `/v1/crm/people/${randomUUID()}/upsert`, { token, body: fields });
  expect(reply.status, reply.text).toBe(201);
  return reply.body.id;
}

const compare = (id: string, candidateIds: unknown, token: string | undefined = owner) =>
  quayside.call("POST", `/v1/crm/people/${id}/merge-candidates`, {
    body: { candidateIds },
    ...(token === "" ? {} : { token }),
  });

const idsOf = (reply: { body: { candidates: { personId: string }[] } }) =>
  reply.body.candidates.map(({ personId }) => personId);

describe("merge candidates", () => {
  test("come with a confidence and its reasons", async () => {
    const same = await add({ ...ADA, name: "A. Lovelace" });
    const reply = await compare(person, [same]);
    expect([reply.status, reply.body]).toEqual([
      200,
      {
        candidates: [
          { personId: same, confidence: expect.any(Number), reasons: expect.arrayContaining([expect.any(String)]) },
        ],
      },
    ]);
    const [candidate] = reply.body.candidates;
    expect(candidate.confidence).toBeGreaterThan(0.9);
    expect(candidate.confidence).toBeLessThanOrEqual(1);
    expect(candidate.reasons).toContain("Same email address ada@acme.com");
  });

  test("stand in the order of their confidence", async () => {
    const [different, same, alike] = [
      await add({ name: "Grace Hopper", email: "grace@navy.example" }),
      await add(ADA),
      await add({ name: "Ada Lovelace" }),
    ];
    const reply = await compare(person, [different, alike, same]);
    expect(idsOf(reply)).toEqual([same, alike, different]);
    const confidences = reply.body.candidates.map(({ confidence }: { confidence: number }) => confidence);
    expect(confidences).toEqual([...confidences].sort((a, b) => b - a));
    expect(confidences.at(-1)).toBeLessThan(0.01);
  });

  test("may be 20, and change nothing", async () => {
    const ids = await Promise.all(Array.from({ length: 20 }, (_, n) => add({ name: `Ada Lovelace ${n}` })));
    const before = await quayside.call("GET", `/v1/crm/people/${person}`, { token: owner });
    const reply = await compare(person, ids);
    expect([reply.status, idsOf(reply).sort()]).toEqual([200, ids.sort()]);
    expect((await quayside.call("GET", `/v1/crm/people/${person}`, { token: owner })).body).toEqual(before.body);
  });

  test("leave out unknown ids, other organizations' people and the person's own, and come once", async () => {
    const [known, foreign] = [await add({ name: "Known" }), await add({ name: "Foreign" }, stranger)];
    const reply = await compare(person, [NO_SUCH_ID, foreign, person, known, known.toUpperCase(), known]);
    expect([reply.status, idsOf(reply)]).toEqual([200, [known]]);
    expect((await compare(person, [person])).body).toEqual({ candidates: [] });
    expect((await compare(person, [NO_SUCH_ID])).body).toEqual({ candidates: [] });
  });

  test("that were merged are their survivor, once; on both sides", async () => {
    const [first, second, third] = [await add(ADA), await add(ADA), await add(ADA)];
    expect(
      (await mutate(quayside, "crm.duplicates.merge", { survivorId: second, mergedId: third }, owner)).status,
    ).toBe(200);
    expect(idsOf(await compare(first, [third, second]))).toEqual([second]);
    expect(idsOf(await compare(third, [first, second, third]))).toEqual([first]);
  });

  test("of people without any data have a confidence too", async () => {
    const [one, other] = [await add({}), await add({})];
    const [candidate] = (await compare(one, [other])).body.candidates;
    expect(candidate).toEqual({ personId: other, confidence: expect.any(Number), reasons: [] });
    expect(candidate.confidence).toBeLessThan(0.01);
  });
});

describe("the request", () => {
  test.each([
    ["no candidates", []],
    ["21 candidates", Array.from({ length: 21 }, () => NO_SUCH_ID)],
    ["20,000 candidates", Array.from({ length: 20_000 }, () => NO_SUCH_ID)],
    ["an id that is none", ["not-a-uuid"]],
    ["an empty id", [""]],
    ["a number", [5]],
    ["null", [null]],
    ["text", NO_SUCH_ID],
    ["null in place of a list", null],
    ["nothing", undefined],
  ])("with %s is 422 and names the field", async (_, candidateIds) => {
    const reply = await compare(person, candidateIds);
    expectProblem(reply, 422, "validation_failed");
    for (const { field } of reply.body.errors) expect(field).toMatch(/^candidateIds(\.0)?$/);
    expect(reply.text.length).toBeLessThan(2_000);
  });

  test("with a field that is not known is 422", async () => {
    const body = { candidateIds: [NO_SUCH_ID], minConfidence: 0.5 };
    const reply = await quayside.call("POST", `/v1/crm/people/${person}/merge-candidates`, { token: owner, body });
    expectProblem(reply, 422, "validation_failed");
    expect(reply.body.errors[0].field).toBe("minConfidence");
  });

  test.each(["{", "[]", '"text"', ""])("with the body %s is refused", async (rawBody) => {
    const headers = { "content-type": "application/json" };
    const path = `/v1/crm/people/${person}/merge-candidates`;
    const reply = await quayside.call("POST", path, { token: owner, rawBody, headers });
    expect([400, 422]).toContain(reply.status);
  });

  test.each([NO_SUCH_ID, "not-a-uuid", "1", "a%00b"])("for the id %s is 404", async (id) => {
    expectProblem(await compare(id, [person]), 404, "not_found");
  });

  test("for another organization's person is 404", async () => {
    const reply = await compare(person, [person], stranger);
    expectProblem(reply, 404, "not_found", `No person has the id ${person}.`);
  });

  test("needs a credential with the scope 'write'", async () => {
    expectProblem(await compare(person, [NO_SUCH_ID], ""), 401, "sign_in_required");
    const reader = await quayside.makeKey(owner, { scopes: ["read"] });
    expectProblem(await compare(person, [NO_SUCH_ID], reader.secret), 403, "insufficient_scope");
    const writer = await quayside.makeKey(owner, { scopes: ["write"] });
    expect((await compare(person, [NO_SUCH_ID], writer.secret)).status).toBe(200);
  });

  test.each(["GET", "PUT", "PATCH", "DELETE"])("by %s is 405", async (method) => {
    const reply = await quayside.call(method, `/v1/crm/people/${person}/merge-candidates`, { token: owner });
    expectProblem(reply, 405, "method_not_allowed");
    expect(reply.headers.get("allow")).toBe("POST, OPTIONS");
  });
});
