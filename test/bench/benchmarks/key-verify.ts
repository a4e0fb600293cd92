import type { Benchmark } from "../support/bench.ts";
import { startHelper } from "../support/children.ts";
import { compare } from "../support/load.ts";

const TARGET = 0.6;
const PATH = "/v1/crm/api-keys/verify";

/** `POST /v1/crm/api-keys/verify` for one key over and over, as a gateway asks; all but one look-up a second are cached. */
export const keyVerify: Benchmark = {
  name: "key-verify",
  async measure(bench) {
    const installation = await bench.shared();
    const { key, quayside } = await installation.connect();
    quayside.close();
    const body = JSON.stringify({ key });
    const headers = { "content-type": "application/json" };
    const ours = { url: installation.baseUrl + PATH, method: "POST" as const, headers, body };
    const ANSWER = await (await fetch(ours.url, { method: "POST", headers, body })).text();
    const bare = startHelper("baseline/key-verify.ts", { ANSWER });
    try {
      const { port } = await bare.receive<{ port: number }>();
      return [await compare(`POST ${PATH}`, ours, { ...ours, url: `http://127.0.0.1:${port}${PATH}` }, TARGET)];
    } finally {
      await bare.stop();
    }
  },
};
