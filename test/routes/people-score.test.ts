import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { mutate } from "../support/call-procedure.ts";
import { expectProblem } from "../support/expect-errors.ts";
import { type People, signUpForPeople } from "../support/people.ts";
import { startTestQuayside, type TestQuayside } from "../support/quayside.ts";

const DAY_MS = 86_400_000;

let quayside: TestQuayside;
let people: People;

beforeAll(async () => {
  quayside = await startTestQuayside({}, "api");
  people = await signUpForPeople(quayside, "owner");
});

afterAll(() => quayside?.stop());

interface Explanation {
  personId: string;
  score: number;
  components: Record<string, number>;
  reasons: { label: string; impact: number; detail: string }[];
}

/** The explanation, after what must always be so was looked at. */
async function explain(id: string): Promise<Explanation> {
  const reply = await people.call("GET", `/${id}/score-explain`);
  expect(reply.status, reply.text).toBe(200);
  const { personId, score, components, reasons } = reply.body as Explanation;
  expect(Object.keys(reply.body)).toEqual(["personId", "score", "components", "reasons"]);
  expect(personId).toBe(id);
  expect(Object.keys(components)).toEqual(["fit", "engagement", "completeness"]);
  expect(Object.values(components).reduce((sum, points) => sum + points, 0)).toBe(score);
  expect(reasons.reduce((sum, { impact }) => sum + impact, 0)).toBe(score);
  for (const { label, detail } of reasons)
    expect([label, detail]).toEqual([expect.stringMatching(/./), expect.stringMatching(/\.$/)]);
  return reply.body;
}

const impacts = ({ reasons }: Explanation) => Object.fromEntries(reasons.map(({ label, impact }) => [label, impact]));

describe("a score", () => {
  test("of somebody of whom nothing is known is 0, and says what is missing", async () => {
    const explanation = await explain(await people.make());
    expect(explanation.score).toBe(0);
    expect(impacts(explanation)).toEqual({
      "No company": 0,
      "No business email": 0,
      "Position missing": 0,
      "No engagement": 0,
      "Complete profile": 20,
      "Missing email": -6,
      "Missing name": -6,
      "Missing phone number": -4,
      "Missing tags": -4,
    });
  });

  test("of a whole profile at a company is 60 before any touchpoint, and 100 with many of them", async () => {
    const attributes = { title: "Engineer", phone: "+49 30 1" };
    const id = await people.make({ email: "ada@whole.example", name: "Ada", tags: ["t"], attributes });
    expect(await explain(id)).toMatchObject({ score: 60, components: { fit: 40, engagement: 0, completeness: 20 } });
    const touchpoints = Array.from({ length: 100 }, () => ({ personId: id, type: "purchase.made" }));
    expect((await mutate(quayside, "crm.people.recordTouchpoints", { touchpoints }, people.token)).status).toBe(200);
    expect(await explain(id)).toMatchObject({ score: 100, components: { fit: 40, engagement: 40, completeness: 20 } });
    expect((await people.read(id)).body.score).toBe(100);
  });

  test("of an address of a mail provider has neither company nor business email", async () => {
    const explanation = await explain(await people.make({ email: "ada@Gmail.com" }));
    expect(impacts(explanation)).toMatchObject({ "No company": 0, "No business email": 0 });
    expect(impacts(explanation)).not.toHaveProperty("Missing email");
  });

  test("counts a position and a phone that are text or a number, and no others", async () => {
    const id = await people.make();
    for (const [attributes, position, phone] of [
      [{ title: "x", phone: 5 }, 10, undefined],
      [{ title: "  ", phone: "" }, 0, -4],
      [{ title: { a: 1 }, phone: ["1"] }, 0, -4],
      [{ title: null, jobTitle: "x", phone: null, mobile: "1" }, 10, undefined],
      [{ jobTitle: null, constructor: "x", mobile: null }, 0, -4],
    ] as const) {
      await people.patch(id, { attributes });
      const found = impacts(await explain(id));
      expect([found["Position known"] ?? 0, found["Missing phone number"]], JSON.stringify(attributes)).toEqual([
        position,
        phone,
      ]);
    }
  });

  test("names how much of the engagement has decayed", async () => {
    const id = await people.make();
    const occurredAt = new Date(Date.now() - 30 * DAY_MS).toISOString();
    const touchpoints = [{ personId: id, type: "meeting.held", occurredAt }];
    await mutate(quayside, "crm.people.recordTouchpoints", { touchpoints }, people.token);
    // 10 gives 20 points; half of it, 5, gives 12.
    expect(impacts(await explain(id))).toMatchObject({ Touchpoints: 20, Decay: -8 });
    expect((await people.read(id)).body.score).toBe(12);
  });

  test("is what the list and the record say", async () => {
    const id = await people.make({ email: "list@score.example", name: "List" });
    const { score } = await explain(id);
    expect((await people.read(id, "fields=score")).body).toEqual({ id, score });
    const found = await people.list(
      `filter[email]=list@score.example&filter[score][gt]=${score - 1}&filter[score][lt]=${score + 1}`,
    );
    expect(found.body.data).toHaveLength(1);
  });

  test("is explained to who may read, of people who are there", async () => {
    const id = await people.make();
    expectProblem(await quayside.call("GET", `/v1/crm/people/${id}/score-explain`), 401, "sign_in_required");
    expectProblem(await people.call("GET", `/${randomUUID()}/score-explain`), 404, "not_found");
    expectProblem(await people.call("GET", `/${id}/score-explain?x=1`), 422, "validation_failed");
  });
});
