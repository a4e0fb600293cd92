import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { sampleGroup } from "../../scripts/seed/sample-data.ts";
import { ADMIN, startTestQuayside, type TestQuayside } from "../support/quayside.ts";
import { connectTo } from "../support/sql.ts";

const SCRIPT = fileURLToPath(new URL("../../scripts/seed.ts", import.meta.url));

let quayside: TestQuayside;
let sql: ReturnType<typeof connectTo>;

beforeAll(async () => {
  quayside = await startTestQuayside({}, "api");
  sql = connectTo(quayside.databaseUrl);
});

afterAll(async () => {
  await sql?.end();
  await quayside?.stop();
});

function seed(args: string[], baseUrl = quayside.baseUrl): Promise<{ code: number; output: string; errors: string }> {
  const env = {
    ...process.env,
    BASE_URL: baseUrl,
    BOOTSTRAP_ADMIN_USER: ADMIN.username,
    BOOTSTRAP_ADMIN_PASSWORD: ADMIN.password,
  };
  return new Promise((resolve) => {
    execFile(process.execPath, [SCRIPT, ...args], { env, timeout: 60_000 }, (error, output, errors) => {
      resolve({ code: error ? 1 : 0, output, errors });
    });
  });
}

async function counts() {
  const [row] = await sql`SELECT (SELECT count(*)::int FROM people) AS people,
    (SELECT count(*)::int FROM people WHERE company_id IS NOT NULL) AS employed,
    (SELECT count(*)::int FROM companies) AS companies, (SELECT count(*)::int FROM campaigns) AS campaigns,
    (SELECT count(*)::int FROM timeline_events WHERE type NOT LIKE 'person.%') AS touchpoints`;
  return row;
}

describe("npm run seed", () => {
  test("fills an empty Quayside, and does nothing twice", async () => {
    const first = await seed(["--people", "501", "--seed", "7"]);
    expect([first.code, first.errors]).toEqual([0, ""]);
    expect(first.output).toMatch(/^100 % {2}1,000 of 1,000 people, [\d,]+ a second$/m);
    expect(first.output).toMatch(/Stored 1,000 people, 100 companies, 2,000 touchpoints in [\d.]+ s/);
    // No terminal, no escape codes.
    expect(first.output).not.toContain("\u001b");
    const filled = await counts();
    expect(filled).toMatchObject({ people: 1_000, companies: 100, campaigns: 6, touchpoints: 2_000 });
    expect(filled?.employed).toBeGreaterThan(800);

    const again = await seed(["--people", "1000", "--seed", "7"]);
    expect(again.output).toContain("Stored 0 people, 0 companies, 0 touchpoints");
    expect(again.output).toContain("1,000 people were there already.");
    expect(await counts()).toEqual(filled);
  });

  test("goes on where a run was broken off", async () => {
    await sql`DELETE FROM timeline_events`;
    const before = await counts();
    expect((await seed(["--people", "1000", "--seed", "7"])).code).toBe(0);
    expect(await counts()).toEqual({ ...before, touchpoints: 2_000 });
  });

  test.each([
    [["--people", "0"], /--people must be a whole number from 1 to 1,000,000/],
    [["--people", "many"], /--people must be a whole number/],
    [["--seed", "-1"], /--seed/],
    [["--seed", "4294967296"], /--seed must be a whole number from 0 to 4,294,967,295/],
    [["--colour"], /--colour/],
  ])("refuses %s and says what would be right", async (args, message) => {
    const { code, errors } = await seed(args);
    expect(code).toBe(1);
    expect(errors).toMatch(message);
    expect(errors).not.toContain("at main");
  });

  test("says so when no Quayside answers", async () => {
    const { code, errors } = await seed([], "http://127.0.0.1:9");
    expect([code, errors]).toEqual([1, expect.stringContaining("Start it with 'npm start'.")]);
  });
});

describe("sample data", () => {
  const group = sampleGroup(1, 3, ["11111111-1111-4111-8111-111111111111"], Date.parse("2026-06-01T00:00:00Z"));

  test("is the same for the same seed and another one for another", () => {
    const at = Date.parse("2026-06-01T00:00:00Z");
    expect(sampleGroup(1, 3, ["11111111-1111-4111-8111-111111111111"], at)).toEqual(group);
    expect(sampleGroup(2, 3, [], at).people[0]).not.toEqual(group.people[0]);
    expect(sampleGroup(1, 4, [], at).people[0]?.id).not.toBe(group.people[0]?.id);
  });

  test("has ids and domains of its own, and a few people who are there twice", () => {
    expect(new Set(group.people.map(({ id }) => id)).size).toBe(500);
    expect(new Set(group.companies.map(({ domain }) => domain)).size).toBe(50);
    const emails = new Set(group.people.map(({ email }) => email)).size;
    expect(emails).toBeLessThan(500);
    expect(emails).toBeGreaterThan(480);
    expect(group.touchpoints).toHaveLength(1_000);
    expect(group.touchpoints[0]?.personId).toBe(group.people[0]?.id);
  });
});
