import { createHmac, randomBytes } from "node:crypto";
import { readFile } from "node:fs/promises";
import fc from "fast-check";
import { Webhook } from "standardwebhooks";
import { expect, test } from "vitest";
import { verifyWebhook, type WebhookHeaders, WebhookVerificationError } from "./verify-webhook.ts";

const EVENT = {
  id: "0199-e1",
  type: "person.created",
  createdAt: "2026-03-01T12:00:00.000Z",
  organizationId: "org-1",
  data: { name: "Zoë ✓" },
};
const BODY = JSON.stringify(EVENT);
const NOW = new Date("2026-03-01T12:00:10Z");
const SECONDS = NOW.getTime() / 1000;
const SECRET = `whsec_${Buffer.alloc(32, 251).toString("base64")}`;
const OLD_SECRET = `whsec_${randomBytes(24).toString("base64")}`;

function standard(secrets: string[], { body = BODY, seconds = SECONDS } = {}) {
  const signatures = secrets.map((secret) => new Webhook(secret).sign("msg-1", new Date(seconds * 1000), body));
  return { "webhook-id": "msg-1", "webhook-timestamp": String(seconds), "webhook-signature": signatures.join(" ") };
}

function service(secret: string, body: string = BODY) {
  return { "X-Service-Signature": createHmac("sha256", secret).update(body).digest("hex") };
}

function verify(headers: WebhookHeaders, secret: string | string[] = SECRET, body: string | Uint8Array = BODY) {
  return verifyWebhook(body, headers, secret, { now: NOW });
}

async function refusal(verifying: Promise<unknown>): Promise<string> {
  const error = await verifying.catch((reason: unknown) => reason);
  expect(error).toBeInstanceOf(WebhookVerificationError);
  return (error as Error).message;
}

test("what the Standard Webhooks library signs is accepted, and the event is given", async () => {
  expect(await verify(standard([SECRET]))).toEqual(EVENT);
});

test("the body may be bytes, and the headers those of fetch or of Node", async () => {
  const headers = standard([SECRET]);
  expect(await verify(new Headers(headers), SECRET, Buffer.from(BODY))).toEqual(EVENT);
  expect(await verify({ ...headers, "webhook-id": ["msg-1"], accept: undefined })).toEqual(EVENT);
  const upper = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toUpperCase(), value]));
  expect(await verify(upper)).toEqual(EVENT);
});

test("a secret of one's own is its text", async () => {
  const secret = "geheim: schlüssel";
  const signature = createHmac("sha256", secret).update(`msg-1.${SECONDS}.${BODY}`).digest("base64");
  expect(await verify({ ...standard([SECRET]), "webhook-signature": `v1,${signature}` }, secret)).toEqual(EVENT);
});

test("while a secret is rotated, either side may know only one of the two", async () => {
  expect(await verify(standard([SECRET, OLD_SECRET]), OLD_SECRET)).toEqual(EVENT);
  expect(await verify(standard([OLD_SECRET]), [SECRET, OLD_SECRET])).toEqual(EVENT);
  expect(await refusal(verify(standard([OLD_SECRET]), SECRET))).toContain("No signature fits");
});

test("signatures of other versions are passed over", async () => {
  const headers = standard([SECRET]);
  const list = `v1a,AAAA v2 ${headers["webhook-signature"]}`;
  expect(await verify({ ...headers, "webhook-signature": list })).toEqual(EVENT);
  const others = { ...headers, "webhook-signature": "v1a,AAAA" };
  expect(await refusal(verify(others))).toContain("no signature of version v1");
});

test.each([
  ["body", {}, BODY.replace("Zoë", "Zoe")],
  ["id", { "webhook-id": "msg-2" }, BODY],
  ["time", { "webhook-timestamp": String(SECONDS - 1) }, BODY],
])("a changed %s does not fit the signature", async (_what, changed, body) => {
  expect(await refusal(verify({ ...standard([SECRET]), ...changed }, SECRET, body))).toContain("No signature fits");
});

test.each([
  [-301, "too old"],
  [301, "in the future"],
])("a delivery of %d seconds from now is refused", async (offset, message) => {
  expect(await refusal(verify(standard([SECRET], { seconds: SECONDS + offset })))).toContain(message);
});

test.each([-300, 300])("a delivery of %d seconds from now is accepted", async (offset) => {
  expect(await verify(standard([SECRET], { seconds: SECONDS + offset }))).toEqual(EVENT);
});

test("the tolerance can be set, and the clock is the real one unless given", async () => {
  const headers = standard([SECRET], { seconds: SECONDS - 20 });
  expect(await refusal(verifyWebhook(BODY, headers, SECRET, { now: NOW, toleranceSeconds: 10 }))).toContain("too old");
  const fresh = standard([SECRET], { seconds: Math.floor(Date.now() / 1000) });
  expect(await verifyWebhook(BODY, fresh, SECRET)).toEqual(EVENT);
});

test.each(["soon", "-5", "1e3", "1772366410.5", "0x10", "9".repeat(13)])("%j is no time", async (timestamp) => {
  const headers = { ...standard([SECRET]), "webhook-timestamp": timestamp };
  expect(await refusal(verify(headers))).toContain("not a time in seconds");
});

test.each(["webhook-id", "webhook-timestamp", "webhook-signature"])("without %s the message names it", async (name) => {
  const headers = { ...standard([SECRET]), ...service(SECRET), [name]: undefined };
  expect(await refusal(verify(headers))).toContain(`${name} is missing`);
});

test("without any signature the message says so", async () => {
  expect(await refusal(verify({}))).toContain("no signature");
});

test("the service signature alone is accepted for the body that it was made for", async () => {
  expect(await verify(service(SECRET))).toEqual(EVENT);
  expect(await verify(service(OLD_SECRET), [SECRET, OLD_SECRET])).toEqual(EVENT);
  expect(await refusal(verify(service(OLD_SECRET)))).toContain("does not fit");
  expect(await refusal(verify(service(SECRET), SECRET, `${BODY} `))).toContain("does not fit");
  expect(await refusal(verify({ "X-Service-Signature": "abc" }))).toContain("not an HMAC-SHA256 in hex");
});

test("a service signature that fits does not make up for a standard one that does not", async () => {
  const headers = { ...service(SECRET), ...standard([OLD_SECRET]) };
  expect(await refusal(verify(headers))).toContain("No signature fits");
});

test("base64 without padding or in the URL alphabet is the same key and the same signature", async () => {
  const headers = standard([SECRET]);
  const loose = (text: string) => text.replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
  expect(loose(SECRET)).not.toBe(SECRET);
  expect(await verify(headers, loose(SECRET))).toEqual(EVENT);
  expect(await verify({ ...headers, "webhook-signature": loose(headers["webhook-signature"]) })).toEqual(EVENT);
});

test.each(["v1,", "v1,====", "v1,not base64!", "v1,AAAA", "v1"])("the signature %j fits nothing", async (signature) => {
  expect(await refusal(verify({ ...standard([SECRET]), "webhook-signature": signature }))).toMatch(/signature/);
});

test.each(["", "whsec_", "whsec_***", []])("with the secret %j nothing can be verified", async (secret) => {
  expect(await refusal(verify(standard([SECRET]), secret))).toContain("secret");
});

test("a parsed body is refused with a hint", async () => {
  expect(await refusal(verify(standard([SECRET]), SECRET, EVENT as never))).toContain("not a parsed object");
});

test.each([
  ["not JSON", "not JSON"],
  ["null", "not an event"],
  ['{"id":"e1"}', "not an event"],
  ["[]", "not an event"],
])("the signed body %j is no event", async (body, message) => {
  expect(await refusal(verify(standard([SECRET], { body }), SECRET, body))).toContain(message);
});

test("only the first ten signatures are looked at", async () => {
  const headers = standard([SECRET]);
  const list = `${"v1,AAAA ".repeat(10)}${headers["webhook-signature"]}`;
  expect(await refusal(verify({ ...headers, "webhook-signature": list }))).toContain("No signature fits");
});

test("whatever the headers, the answer is an event or a WebhookVerificationError", async () => {
  const names = fc.constantFrom("webhook-id", "webhook-timestamp", "webhook-signature", "X-Service-Signature");
  await fc.assert(
    fc.asyncProperty(fc.dictionary(names, fc.string()), fc.string(), async (headers, secret) => {
      await refusal(verify(headers, secret));
    }),
  );
});

test("the module needs nothing of Node, and runs in browsers and at the edge", async () => {
  const source = await readFile(new URL("./verify-webhook.ts", import.meta.url), "utf8");
  expect(source).not.toMatch(/^import|\brequire\(|\bBuffer\b|\bprocess\b/m);
});
