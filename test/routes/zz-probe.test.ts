import { afterAll, beforeAll, test } from "vitest";
import { startTestQuayside, type TestQuayside } from "../support/quayside.ts";
import { sendRaw } from "../support/send-raw.ts";
let q: TestQuayside;
beforeAll(async () => { q = await startTestQuayside({}, "api"); });
afterAll(() => q.stop());
test("probe", async () => {
  const r = await q.call("POST", "/api/projects", { token: q.adminToken, rawBody: '{"name":"x","buildConfig":{"env":{"__proto__":"1","A":"2"}}}' });
  console.log(r.status, r.text);
  for (const [n, mb] of [[30, 2], [10, 30]] as const) {
    const out: Record<string, number> = {};
    for (let i = 0; i < n; i++) {
      const k = await q.call("POST", "/api/projects", { token: q.adminToken, rawBody: JSON.stringify({ name: "n".repeat(mb * 1048576) }) }).then((x) => String(x.status), (e) => `fetch ${e.cause?.code ?? e}`);
      out[k] = (out[k] ?? 0) + 1;
      const c = await sendRaw(q.baseUrl, { method: "POST", path: "/api/projects", headers: { authorization: `Bearer ${q.adminToken}`, "content-type": "application/json" }, chunks: Array.from({ length: mb * 4 }, () => Buffer.alloc(262144, 32)) }).then((x) => `raw ${x.status}`, (e) => `raw ${e.code}`);
      out[c] = (out[c] ?? 0) + 1;
    }
    console.log(mb, JSON.stringify(out));
  }
});
