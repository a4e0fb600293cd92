import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { mutate } from "../support/call-procedure.ts";
import { type People, signUpForPeople } from "../support/people.ts";
import { startTestQuayside, type TestQuayside } from "../support/quayside.ts";
import { connectTo } from "../support/sql.ts";

let quayside: TestQuayside;
let sql: ReturnType<typeof connectTo>;
let people: People;
let counter = 0;

beforeAll(async () => {
  quayside = await startTestQuayside({}, "api");
  sql = connectTo(quayside.databaseUrl);
  people = await signUpForPeople(quayside, "owner");
});

afterAll(async () => {
  await sql?.end();
  await quayside?.stop();
});

const freshDomain = () => `company${++counter}.example`;
const companiesOf = (domain: string, by = people) => sql<{ id: string; name: string }[]>`
  SELECT id, name FROM companies WHERE organization_id = ${by.organizationId} AND domain = ${domain}`;
const recordOf = async (id: string) => (await people.read(id)).body;

/** An endpoint that listens, and a look at what was written for it. */
async function listen(by: People, events: string[], { area = "crm", status = "enabled" } = {}) {
  await sql`INSERT INTO webhook_endpoints (id, organization_id, area, name, url, events, secret, status)
    VALUES (${randomUUID()}, ${by.organizationId}, ${area}, 'test', 'http://127.0.0.1:9/', ${events}, '', ${status})`;
}
const eventsOf = (by: People) => sql<{ type: string; area: string; data: Record<string, unknown> }[]>`
  SELECT type, area, data FROM webhook_events WHERE organization_id = ${by.organizationId} ORDER BY id`;
const typesOf = async (by: People) => (await eventsOf(by)).map(({ type }) => type).sort();

describe("a person's company", () => {
  test("comes from the email's domain, is made once and named after it", async () => {
    const domain = freshDomain();
    const one = await recordOf(await people.make({ email: `a@${domain}` }));
    const two = await recordOf(await people.make({ email: `B@${domain.toUpperCase()}` }));
    const rows = await companiesOf(domain);
    expect([one.domain, two.domain, rows.length, rows[0]?.name]).toEqual([domain, domain, 1, domain]);
    expect([one.companyId, two.companyId]).toEqual([rows[0]?.id, rows[0]?.id]);
    const company = await quayside.call("GET", `/v1/crm/companies/${one.companyId}`, { token: people.token });
    expect(company.body).toMatchObject({ domain, peopleCount: 2 });
  });

  test("is one that was there already", async () => {
    const domain = freshDomain();
    const made = await mutate(quayside, "crm.companies.create", { name: "Acme", domain }, people.token);
    expect((await recordOf(await people.make({ domain }))).companyId).toBe(made.body.id);
    expect((await companiesOf(domain)).map(({ name }) => name)).toEqual(["Acme"]);
  });

  test.each(["gmail.com", "GMX.de", "yahoo.co.uk", "proton.me"])(
    "is none for the mail provider %s",
    async (provider) => {
      const byEmail = await recordOf(await people.make({ email: `x@${provider}` }));
      expect([byEmail.domain, byEmail.companyId]).toEqual([null, null]);
      const byDomain = await recordOf(await people.make({ domain: provider }));
      expect([byDomain.domain, byDomain.companyId]).toEqual([provider.toLowerCase(), null]);
      expect(await companiesOf(provider.toLowerCase())).toEqual([]);
    },
  );

  test("comes from the domain that is given rather than from the email", async () => {
    const [given, other] = [freshDomain(), freshDomain()];
    const id = await people.make({ email: `a@${other}`, domain: given });
    expect(await recordOf(id)).toMatchObject({ domain: given, companyId: (await companiesOf(given))[0]?.id });
    expect(await companiesOf(other)).toEqual([]);
    const moved = await people.upsert(id, { email: `a@${freshDomain()}` });
    expect(moved.body.domain).toBe(given);
    await people.upsert(id, { email: "a@gmail.com" });
    expect(await recordOf(id)).toMatchObject({ domain: given, companyId: (await companiesOf(given))[0]?.id });
  });

  test("follows the email when it came from the email", async () => {
    const [before, after] = [freshDomain(), freshDomain()];
    const id = await people.make({ email: `a@${before}` });
    const moved = await people.upsert(id, { email: `a@${after}` });
    expect(moved.body).toMatchObject({ domain: after, companyId: (await companiesOf(after))[0]?.id });
    const homeless = await people.upsert(id, { email: "a@gmail.com" });
    expect(homeless.body).toMatchObject({ domain: null, companyId: null });
    const back = await people.upsert(id, { email: `a@${before}` });
    expect(back.body).toMatchObject({ domain: before, companyId: (await companiesOf(before))[0]?.id });
  });

  test("changes with a domain given later, and stays with every other change", async () => {
    const [before, after] = [freshDomain(), freshDomain()];
    const id = await people.make({ email: `a@${before}` });
    const { companyId } = await recordOf(id);
    await people.patch(id, { name: "Ada", tags: ["t"], attributes: { x: 1 } });
    expect((await recordOf(id)).companyId).toBe(companyId);
    const moved = await people.upsert(id, { domain: after });
    expect(moved.body.companyId).toBe((await companiesOf(after))[0]?.id);
  });

  test("is the organization's own", async () => {
    const domain = freshDomain();
    const stranger = await signUpForPeople(quayside, "stranger");
    const [mine, theirs] = [await people.make({ domain }), await stranger.make({ domain })];
    const ids = [(await recordOf(mine)).companyId, (await stranger.read(theirs)).body.companyId];
    expect(new Set(ids).size).toBe(2);
    expect([await companiesOf(domain), await companiesOf(domain, stranger)].map((rows) => rows[0]?.id)).toEqual(ids);
  });

  test("is made once by many at the same moment", async () => {
    const domain = freshDomain();
    const others = Array.from({ length: 20 }, () => freshDomain());
    const replies = await Promise.all([
      ...Array.from({ length: 15 }, () => people.upsert(randomUUID(), { email: `${randomUUID()}@${domain}` })),
      // Two batches with many new domains in opposite orders, which would wait for each other if order counted.
      people.bulk(others.map((name) => ({ op: "upsert", data: { domain: name } }))),
      people.bulk(others.toReversed().map((name) => ({ op: "upsert", data: { domain: name } }))),
    ]);
    expect(replies.map(({ status }) => status)).toEqual([...Array.from({ length: 15 }, () => 201), 200, 200]);
    const [company, ...more] = await companiesOf(domain);
    expect(more).toEqual([]);
    expect(new Set(replies.slice(0, 15).map(({ body }) => body.companyId))).toEqual(new Set([company?.id]));
    for (const name of others) expect(await companiesOf(name)).toHaveLength(1);
  });

  test("may be deleted while people are linked to it: nobody fails, and nobody is linked to what is gone", async () => {
    for (let round = 0; round < 8; round++) {
      const domain = freshDomain();
      const ids = [await people.make({ domain }), await people.make({ domain })];
      const { companyId } = await recordOf(ids[0] ?? "");
      const replies = await Promise.all([
        people.bulk([
          ...ids.map((id) => ({ op: "tag", personId: id, tag: "t" })),
          ...Array.from({ length: 20 }, (_, index) => ({ op: "upsert", data: { email: `${index}@${domain}` } })),
        ]),
        mutate(quayside, "crm.companies.delete", { id: companyId }, people.token),
        people.upsert(randomUUID(), { domain }),
        people.upsert(ids[0] ?? "", { name: "x", domain }),
      ]);
      expect(replies.map(({ status, text }) => (status < 300 ? "fine" : text))).toEqual([
        "fine",
        "fine",
        "fine",
        "fine",
      ]);
      const linked = await sql`SELECT DISTINCT company_id FROM people
        WHERE organization_id = ${people.organizationId} AND domain = ${domain} AND company_id IS NOT NULL`;
      expect(linked.map((row) => row.company_id)).toEqual(
        (await companiesOf(domain)).slice(0, linked.length).map(({ id }) => id),
      );
    }
  });
});

describe("an event", () => {
  test("is written for each kind of change when an endpoint listens to all of them", async () => {
    const owner = await signUpForPeople(quayside, "all-events");
    await listen(owner, ["*"]);
    const domain = freshDomain();
    const id = await owner.make({ email: `a@${domain}`, tags: ["a"] });
    const record = (await owner.read(id)).body;
    const [company, created, ...none] = (await eventsOf(owner)).toSorted((a, b) => (a.type < b.type ? -1 : 1));
    expect(none).toEqual([]);
    expect(created).toEqual({ type: "person.created", area: "crm", data: { person: record } });
    expect(company).toMatchObject({
      type: "company.created",
      area: "crm",
      data: { company: { id: record.companyId, name: domain, domain, attributes: {}, peopleCount: 0 } },
    });
    await sql`DELETE FROM webhook_events`;
    await owner.patch(id, { name: "Ada", tags: ["b"] });
    const after = (await owner.read(id)).body;
    const byType = Object.fromEntries((await eventsOf(owner)).map(({ type, data }) => [type, data]));
    expect(byType).toEqual({
      "person.updated": { person: after, changed: ["name"] },
      "person.tagged": { person: after, tags: ["b"] },
      "person.untagged": { person: after, tags: ["a"] },
      "person.score_changed": { person: after, from: record.score, to: after.score },
    });
  });

  test("is written of those kinds only that somebody listens to", async () => {
    const owner = await signUpForPeople(quayside, "some-events");
    await listen(owner, ["person.tagged", "company.created"]);
    await listen(owner, ["company.created"]);
    const id = await owner.make({ domain: freshDomain() });
    await owner.bulk([{ op: "tag", personId: id, tag: "x" }]);
    expect(await typesOf(owner)).toEqual(["company.created", "person.tagged"]);
  });

  test("is not written when nobody listens, the endpoint is disabled, another area's or another organization's", async () => {
    const owner = await signUpForPeople(quayside, "no-events");
    await listen(owner, ["*"], { status: "disabled" });
    await listen(owner, ["*"], { area: "organization" });
    await listen(await signUpForPeople(quayside, "elsewhere"), ["*"]);
    const id = await owner.make({ domain: freshDomain() });
    await owner.patch(id, { name: "x", tags: ["t"] });
    await mutate(
      quayside,
      "crm.people.recordTouchpoints",
      { touchpoints: [{ personId: id, type: "call.held" }] },
      owner.token,
    );
    expect(await sql`SELECT 1 FROM webhook_events WHERE organization_id = ${owner.organizationId}`).toEqual([]);
    expect(
      await sql`SELECT 1 FROM webhook_events WHERE organization_id NOT IN
      (SELECT organization_id FROM webhook_endpoints WHERE status = 'enabled' AND area = 'crm')`,
    ).toEqual([]);
  });

  test("is not written for a change that changes nothing, or that fails", async () => {
    const owner = await signUpForPeople(quayside, "quiet");
    const id = await owner.make({ name: "Ada", tags: ["t"], attributes: { a: 1 } });
    await listen(owner, ["*"]);
    await owner.patch(id, { name: "Ada", tags: ["t"], attributes: { a: 1, b: null } });
    await owner.bulk([
      { op: "tag", personId: id, tag: "t" },
      { op: "untag", personId: id, tag: "none" },
    ]);
    await owner.patch(id, {
      attributes: Object.fromEntries(Array.from({ length: 200 }, (_, index) => [`k${index}`, 1])),
    });
    await owner.upsert(randomUUID(), { domain: "1.2" });
    expect(await typesOf(owner)).toEqual([]);
  });

  test("of a touchpoint says what was recorded", async () => {
    const owner = await signUpForPeople(quayside, "touched");
    const id = await owner.make();
    await listen(owner, ["touchpoint.recorded", "person.score_changed"]);
    const given = {
      personId: id,
      type: "call.held",
      title: "Talk",
      data: { a: 1 },
      occurredAt: "2026-01-01T00:00:00.000Z",
    };
    const { body } = await mutate(quayside, "crm.people.recordTouchpoints", { touchpoints: [given] }, owner.token);
    const events = await eventsOf(owner);
    expect(events.find(({ type }) => type === "touchpoint.recorded")?.data).toEqual({
      touchpoint: { id: body.ids[0], campaignId: null, ...given },
    });
  });

  test("is there exactly when its change is: both are undone together", async () => {
    const owner = await signUpForPeople(quayside, "together");
    await listen(owner, ["*"]);
    const [id, domain] = [randomUUID(), freshDomain()];
    // Makes the statement that writes the events fail, which is the last one.
    await sql.unsafe(
      `ALTER TABLE webhook_events ADD CONSTRAINT fail_for_test CHECK (organization_id <> '${owner.organizationId}')`,
    );
    const reply = await owner.upsert(id, { domain, name: "Half" });
    await sql`ALTER TABLE webhook_events DROP CONSTRAINT fail_for_test`;
    expect(reply.status).toBe(500);
    expect(reply.text).not.toMatch(/fail_for_test|webhook_events/);
    expect((await owner.read(id)).status).toBe(404);
    expect(await companiesOf(domain, owner)).toEqual([]);
    expect((await owner.upsert(id, { domain, name: "Whole" })).status).toBe(201);
    expect(await typesOf(owner)).toEqual(["company.created", "person.created"]);
  });
});
