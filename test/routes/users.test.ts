import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { expectCoded } from "../support/expect-errors.ts";
import { SECRETS, startTestQuayside, type TestQuayside } from "../support/quayside.ts";

const OVERRIDE = { "x-super-admin-token": SECRETS.SUPER_ADMIN_TOKEN };

let quayside: TestQuayside;

beforeAll(async () => {
  quayside = await startTestQuayside({}, "api");
});

afterAll(() => quayside?.stop());

const create = (body: unknown, headers: Record<string, string> = OVERRIDE) =>
  quayside.call("POST", "/api/v1/admin/users", { body, headers });
const bearer = (token: string) => ({ authorization: `Bearer ${token}` });

describe("creating a user", () => {
  test("answers 201 with the record and without the password", async () => {
    const reply = await create({ name: "grace", password: "compilers are fun", email: "Grace@Example.com" });
    expect(reply.status).toBe(201);
    expect(reply.body).toEqual({
      id: expect.any(Number),
      uid: expect.stringMatching(/^[0-9a-f-]{36}$/),
      name: "grace",
      email: "Grace@Example.com",
      superAdmin: false,
      emailVerifiedAt: null,
      disabledAt: null,
      createdAt: expect.stringMatching(/Z$/),
    });
  });

  test("gives the user a personal organization with a slug of its own", async () => {
    await create({ name: "a.b", password: "long enough" });
    const { token } = await quayside.signUp("a_b");
    const { body } = await quayside.call("GET", "/api/v1/whoami", { token });
    expect(body.organization.slug).toBe("a-b-2");
  });

  test("works for a super admin's session and admin key, but for no weaker key", async () => {
    expect((await create({ name: "by-session" }, bearer(quayside.adminToken))).status).toBe(201);
    const admin = await quayside.makeKey(quayside.adminToken, { scopes: ["admin"] });
    expect((await create({ name: "by-key" }, { "x-api-key": admin.secret })).status).toBe(201);
    const writer = await quayside.makeKey(quayside.adminToken, { scopes: ["write"] });
    expectCoded(await create({ name: "by-weak-key" }, bearer(writer.secret)), 403, "insufficient_scope");
  });

  test("answers 403 to a user who is no super admin, and to that user's admin key", async () => {
    const { token } = await quayside.signUp("mallory");
    const key = await quayside.makeKey(token, { scopes: ["admin"] });
    for (const credential of [token, key.secret]) {
      const reply = await create({ name: "sneaky" }, bearer(credential));
      expectCoded(reply, 403, "forbidden", "Only a super admin may do this.");
    }
  });

  test("answers 401 without a credential, whatever the body is", async () => {
    expectCoded(await create({ name: "x1" }, {}), 401, "sign_in_required");
    expectCoded(await create({ wrong: true }, {}), 401, "sign_in_required");
  });

  test("answers 401 to a wrong super-admin token, even beside a right session", async () => {
    const headers = { ...bearer(quayside.adminToken), "x-super-admin-token": "a wrong token of some length" };
    expectCoded(await create({ name: "x2" }, headers), 401, "invalid_credentials", /X-Super-Admin-Token is wrong/);
  });

  test("is not open to the internal secret", async () => {
    const reply = await create({ name: "x3" }, { "x-internal-secret": SECRETS.INTERNAL_API_SECRET });
    expectCoded(reply, 401, "sign_in_required");
  });

  test("answers 409 to a name in use, and to an email in use in other letters", async () => {
    await create({ name: "taken", email: "taken@example.com" });
    expectCoded(await create({ name: "taken" }), 409, "user_exists");
    expectCoded(await create({ name: "other", email: "TAKEN@example.com" }), 409, "user_exists");
  });

  test("of one name twice at once makes one user", async () => {
    const replies = await Promise.all([1, 2, 3].map(() => create({ name: "once" })));
    expect(replies.map((reply) => reply.status).sort()).toEqual([201, 409, 409]);
  });

  test.each([
    ["no name", {}, "name"],
    ["a name in upper case", { name: "Grace" }, "name"],
    ["a name of 1 character", { name: "g" }, "name"],
    ["a name of 65 characters", { name: "g".repeat(65) }, "name"],
    ["a name that begins with a dot", { name: ".grace" }, "name"],
    ["a password of 7 characters", { name: "grace2", password: "1234567" }, "password"],
    ["an email without a host", { name: "grace2", email: "grace" }, "email"],
    ["a wish to be super admin", { name: "grace2", superAdmin: true }, "superAdmin"],
  ])("answers 422 to %s", async (_, body, field) => {
    const reply = await create(body);
    expectCoded(reply, 422, "validation_failed");
    expect(reply.body.issues[0].field).toBe(field);
  });
});

describe("trusting an organization", () => {
  const trust = (id: string, body: unknown, headers: Record<string, string> = OVERRIDE) =>
    quayside.call("POST", `/api/v1/admin/organizations/${id}/trust`, { body, headers });

  test("answers 200 with the organization, and can be taken back", async () => {
    const { token } = await quayside.signUp("trusty");
    const { body: me } = await quayside.call("GET", "/api/v1/whoami", { token });
    const { id } = me.organization;
    for (const trusted of [true, false]) {
      const reply = await trust(id, { trusted });
      expect([reply.status, reply.body]).toEqual([200, { id, name: "trusty", slug: "trusty", trusted }]);
    }
    expectCoded(await trust(id, { trusted: true }, bearer(token)), 403, "forbidden");
    expectCoded(await trust(id, { trusted: true }, {}), 401, "sign_in_required");
    expectCoded(await trust(id, { trusted: "yes" }), 422, "validation_failed", /'trusted' is not valid/);
    expectCoded(await trust(id, {}), 422, "validation_failed");
    expectCoded(await trust(id, { id, trusted: true }), 400, "invalid_request", /'id' is part of the path/);
  });

  test.each(["00000000-0000-4000-8000-000000000000", "acme"])("answers 404 to the id %s", async (id) => {
    expectCoded(await trust(id, { trusted: true }), 404, "not_found", new RegExp(id));
  });
});
