import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "vitest";
import { expectProblem } from "../support/expect-errors.ts";
import { startTestQuayside, type TestQuayside } from "../support/quayside.ts";
import { connectTo } from "../support/sql.ts";

let quayside: TestQuayside;
let sql: ReturnType<typeof connectTo>;
let owner: { token: string };

beforeAll(async () => {
  quayside = await startTestQuayside({}, "api");
  sql = connectTo(quayside.databaseUrl);
  owner = await quayside.signUp("owner");
});

afterAll(async () => {
  await sql?.end();
  await quayside?.stop();
});

const stats = (headers: Record<string, string>) => quayside.call("GET", "/v1/crm/stats", { headers });

test("stats count the organization's own people and companies", async () => {
  const stranger = await quayside.signUp("stranger");
  const organizationOf = async (token: string) =>
    (await quayside.call("GET", "/api/v1/whoami", { token })).body.organization.id;
  const [mine, theirs] = [await organizationOf(owner.token), await organizationOf(stranger.token)];
  for (const organization of [mine, mine, theirs]) {
    await sql`INSERT INTO people (id, organization_id) VALUES (${randomUUID()}, ${organization})`;
  }
  await sql`INSERT INTO companies (id, organization_id, name) VALUES (${randomUUID()}, ${mine}, 'Acme')`;
  const own = await stats({ authorization: `Bearer ${owner.token}` });
  expect([own.status, own.body]).toEqual([200, { people: 2, companies: 1 }]);
  const other = await stats({ authorization: `Bearer ${stranger.token}` });
  expect(other.body).toEqual({ people: 1, companies: 0 });
});

test.each(["read", "write", "admin"])(
  "stats are open to a key of scope %s, since each includes read",
  async (scope) => {
    const { secret } = await quayside.makeKey(owner.token, { scopes: [scope] });
    expect((await stats({ "x-api-key": secret })).status).toBe(200);
  },
);

test("stats answer 401 to a stranger", async () => {
  expectProblem(await stats({}), 401, "sign_in_required");
});
