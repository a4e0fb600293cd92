import postgres from "postgres";
import { generateApiKey, hashSecret } from "../../../packages/core/src/identity/credentials/secret-formats.ts";
import type { Benchmark } from "../support/bench.ts";
import { startHelper } from "../support/children.ts";
import { compare } from "../support/load.ts";

const TARGET = 0.5;
/** So many that each is asked for again only when the cache, which keeps 800 ms, has let go of it. */
const KEYS = 30_000;
const PATH = "/v1/crm/api-keys/verify";

/** `POST /v1/crm/api-keys/verify` for one key after another, each of them looked up in the database. */
export const keyVerifyUncached: Benchmark = {
  name: "key-verify-uncached",
  async measure(bench) {
    const installation = await bench.shared();
    const databaseUrl = await installation.databaseUrl();
    const bodies = await makeKeys(databaseUrl);
    const headers = { "content-type": "application/json" };
    const ours = { url: installation.baseUrl + PATH, method: "POST" as const, headers, body: bodies[0] ?? "", bodies };
    const bare = startHelper("baseline/key-verify-uncached.ts", { DATABASE_URL: databaseUrl });
    try {
      const { port } = await bare.receive<{ port: number }>();
      const theirs = { ...ours, url: `http://127.0.0.1:${port}${PATH}` };
      return [await compare(`POST ${PATH}, uncached`, ours, theirs, TARGET)];
    } finally {
      await bare.stop();
    }
  },
};

async function makeKeys(databaseUrl: string): Promise<string[]> {
  const secrets = Array.from({ length: KEYS }, () => generateApiKey("test"));
  const sql = postgres(databaseUrl, { max: 1, onnotice: () => {} });
  try {
    await sql`
      INSERT INTO api_keys (id, user_id, name, environment, scopes, key_hash, prefix)
      SELECT gen_random_uuid(), (SELECT min(id) FROM users), 'bench', 'test', ARRAY['read'], decode(hash, 'hex'), prefix
      FROM unnest(${secrets.map(({ secret }) => hashSecret(secret).toString("hex"))}::text[],
        ${secrets.map(({ prefix }) => prefix)}::text[]) AS key (hash, prefix)`;
    await sql.unsafe("ANALYZE api_keys");
  } finally {
    await sql.end();
  }
  return secrets.map(({ secret }) => JSON.stringify({ key: secret }));
}
