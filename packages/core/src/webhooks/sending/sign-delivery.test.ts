import { createHmac } from "node:crypto";
import fc from "fast-check";
import { Webhook } from "standardwebhooks";
import { expect, test } from "vitest";
import { signDelivery, signingKey } from "./sign-delivery.ts";

const STANDARD = `whsec_${Buffer.alloc(32, 7).toString("base64")}`;
const OWN = "geheim: schlüssel";

function sign(secrets: string[], body = Buffer.from('{"name":"Zoë"}'), timestamp = new Date()) {
  return { body, headers: signDelivery({ id: "e-1", timestamp, body, keys: secrets.map(signingKey) }) };
}

test("the service signature is the hex HMAC-SHA256 of the body under the current secret's text", () => {
  const { body, headers } = sign([STANDARD, OWN]);
  expect(headers["X-Service-Signature"]).toBe(createHmac("sha256", STANDARD).update(body).digest("hex"));
});

test("the service signature is as another program makes it", () => {
  // printf '{"a":1}' | openssl dgst -sha256 -hmac s3cret
  const { headers } = sign(["s3cret"], Buffer.from('{"a":1}'));
  expect(headers["X-Service-Signature"]).toBe("5910e62016ef5034272c926c27071992a465c2335cecf41851bda071577f4f6d");
});

test("the standard signature is over id, time in seconds and body", () => {
  const { body, headers } = sign([OWN], undefined, new Date("2026-03-01T12:00:00.999Z"));
  expect(headers["webhook-id"]).toBe("e-1");
  expect(headers["webhook-timestamp"]).toBe("1772366400");
  const expected = createHmac("sha256", OWN).update(`e-1.1772366400.${body.toString()}`).digest("base64");
  expect(headers["webhook-signature"]).toBe(`v1,${expected}`);
});

test("the Standard Webhooks library accepts any body, whichever of the live secrets the receiver has", () => {
  const secret = fc
    .uint8Array({ minLength: 1, maxLength: 64 })
    .map((key) => `whsec_${Buffer.from(key).toString("base64")}`);
  fc.assert(
    fc.property(fc.array(secret, { minLength: 1, maxLength: 3 }), fc.json(), (secrets, json) => {
      const { headers } = sign(secrets, Buffer.from(json));
      for (const each of secrets) expect(new Webhook(each).verify(json, headers)).toEqual(JSON.parse(json));
    }),
  );
});

test("a secret without the prefix is its text, also when it looks like base64", () => {
  for (const secret of [OWN, Buffer.alloc(32, 7).toString("base64"), "whsec"]) {
    const { body, headers } = sign([secret]);
    const webhook = new Webhook(Buffer.from(secret), { format: "raw" });
    expect(webhook.verify(body, headers)).toEqual({ name: "Zoë" });
  }
});

test("the body is signed as bytes, also where they are not text", () => {
  const body = Buffer.of(0xff, 0x00, 0xfe);
  const { headers } = sign([OWN], body, new Date(0));
  const expected = createHmac("sha256", OWN)
    .update(Buffer.concat([Buffer.from("e-1.0."), body]))
    .digest("base64");
  expect(headers["webhook-signature"]).toBe(`v1,${expected}`);
});

test("the headers name the sender and the type of the body", () => {
  const { headers } = sign([OWN]);
  expect(headers).toMatchObject({ "User-Agent": "Quayside-Webhooks/1", "Content-Type": "application/json" });
});

test("without a secret nothing is signed", () => {
  expect(() => sign([])).toThrow("without a secret");
});
