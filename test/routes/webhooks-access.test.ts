import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { expectEnvelope } from "../support/expect-errors.ts";
import { type Owner, signUpOwner } from "../support/organizations.ts";
import { startTestQuayside, type TestQuayside } from "../support/quayside.ts";
import { connectTo } from "../support/sql.ts";
import { createEndpoint, NO_SUCH_ID, readDelivery, storeDeliveries, WEBHOOKS } from "../support/webhooks.ts";

const NEW = { url: "https://hooks.example:8443/in?a=1", events: ["resource.created", "sync.failed"] };

let quayside: TestQuayside;
let sql: ReturnType<typeof connectTo>;
let owner: Owner;
let stranger: Owner;

beforeAll(async () => {
  quayside = await startTestQuayside({}, "api");
  sql = connectTo(quayside.databaseUrl);
  [owner, stranger] = await Promise.all([signUpOwner(quayside, "owner"), signUpOwner(quayside, "stranger")]);
});

afterAll(async () => {
  await sql?.end();
  await quayside?.stop();
});

const create = (fields: object = {}, token = owner.token, headers: Record<string, string> = {}) =>
  quayside.call("POST", WEBHOOKS, { token, body: { ...NEW, ...fields }, headers });
const list = (token = owner.token) => quayside.call("GET", WEBHOOKS, { token });
const read = (id: string, token = owner.token) => quayside.call("GET", `${WEBHOOKS}/${id}`, { token });
const change = (id: string, body: object, token = owner.token) =>
  quayside.call("PATCH", `${WEBHOOKS}/${id}`, { token, body });
const remove = (id: string, token = owner.token) => quayside.call("DELETE", `${WEBHOOKS}/${id}`, { token });
const made = async (fields: object = {}, token = owner.token) => createEndpoint(quayside, token, { ...NEW, ...fields });

describe("access", () => {
  const paths = (id: string) =>
    [
      ["GET", WEBHOOKS, "read"],
      ["POST", WEBHOOKS, "write"],
      ["GET", `${WEBHOOKS}/${id}`, "read"],
      ["PATCH", `${WEBHOOKS}/${id}`, "write"],
      ["POST", `${WEBHOOKS}/${id}/test`, "write"],
      ["POST", `${WEBHOOKS}/${id}/recover`, "write"],
      ["POST", `${WEBHOOKS}/${id}/deliveries/${NO_SUCH_ID}/resend`, "write"],
      ["DELETE", `${WEBHOOKS}/${id}`, "write"],
    ] as const;

  test("is 401 without a credential", async () => {
    for (const [method, path] of paths(NO_SUCH_ID)) {
      expectEnvelope(await quayside.call(method, path), 401, "sign_in_required");
    }
  });

  test("needs write for everything but reading", async () => {
    const { id } = await made();
    const reader = await quayside.makeKey(owner.token, { scopes: ["read"] });
    for (const [method, path, scope] of paths(id)) {
      const body = method === "GET" || method === "DELETE" ? {} : { body: NEW };
      const reply = await quayside.call(method, path, { token: reader.secret, ...body });
      if (scope === "read") expect(reply.status).toBe(200);
      else expectEnvelope(reply, 403, "insufficient_scope", /needs the scope 'write'/);
    }
    const writer = await quayside.makeKey(owner.token, { scopes: ["write"] });
    expect((await create({}, writer.secret)).status).toBe(201);
    expect((await remove(id, writer.secret)).status).toBe(204);
  });

  test("to another organization's webhook is 404 and leaves it as it is", async () => {
    const { id } = await made();
    const [deliveryId = ""] = await storeDeliveries(sql, owner, id, [{ status: "failed" }]);
    const token = stranger.token;
    const call = (method: string, path: string, body?: object) =>
      quayside.call(method, `${WEBHOOKS}/${path}`, body ? { token, body } : { token });
    for (const reply of [
      await call("GET", id),
      await call("PATCH", id, { url: "https://evil.example", secret: "a secret of a stranger" }),
      await call("DELETE", id),
      await call("POST", `${id}/test`),
      await call("POST", `${id}/recover`, { since: "2020-01-01T00:00:00Z" }),
      await call("POST", `${id}/deliveries/${deliveryId}/resend`),
    ]) {
      expectEnvelope(reply, 404, "not_found", `No webhook has the id ${id}.`);
    }
    expect((await list(token)).text).not.toContain(id);
    expect((await read(id)).body.url).toBe(NEW.url);
    expect((await readDelivery(sql, deliveryId)).status).toBe("failed");
  });

  test("to a CRM webhook is 404 here, and to one of these there", async () => {
    const body = { name: "CRM", url: NEW.url, events: ["*"] };
    const crm = await quayside.call("POST", "/v1/crm/webhooks", { token: owner.token, body });
    for (const reply of [await read(crm.body.id), await change(crm.body.id, {}), await remove(crm.body.id)]) {
      expectEnvelope(reply, 404, "not_found");
    }
    const { id } = await made();
    const there = await quayside.call("GET", `/v1/crm/webhooks/${id}`, { token: owner.token });
    expect(there.status).toBe(404);
  });

  test.each([NO_SUCH_ID, "not-a-uuid", "a%00b", "%F0%9F%98%80"])("by the id %s is 404", async (id) => {
    expectEnvelope(await read(id), 404, "not_found");
    expectEnvelope(await change(id, { events: ["*"] }), 404, "not_found");
    expectEnvelope(await remove(id), 404, "not_found");
    expectEnvelope(await quayside.call("POST", `${WEBHOOKS}/${id}/test`, owner), 404, "not_found");
  });

  test.each([
    ["PUT", WEBHOOKS, "GET, POST, HEAD, OPTIONS"],
    ["PUT", `${WEBHOOKS}/${NO_SUCH_ID}`, "GET, PATCH, DELETE, HEAD, OPTIONS"],
    ["GET", `${WEBHOOKS}/${NO_SUCH_ID}/test`, "POST, OPTIONS"],
    ["GET", `${WEBHOOKS}/${NO_SUCH_ID}/recover`, "POST, OPTIONS"],
    ["DELETE", `${WEBHOOKS}/${NO_SUCH_ID}/deliveries/${NO_SUCH_ID}/resend`, "POST, OPTIONS"],
  ])("by %s %s is 405", async (method, path, allow) => {
    const reply = await quayside.call(method, path, { token: owner.token });
    expectEnvelope(reply, 405, "method_not_allowed");
    expect(reply.headers.get("allow")).toBe(allow);
  });
});
