import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { expectProblem } from "../support/expect-errors.ts";
import { type People, signUpForPeople } from "../support/people.ts";
import { startTestQuayside, type TestQuayside } from "../support/quayside.ts";
import { sendRaw } from "../support/send-raw.ts";

const MIB = 1_048_576;

let quayside: TestQuayside;
let people: People;

beforeAll(async () => {
  quayside = await startTestQuayside({}, "api");
  people = await signUpForPeople(quayside, "owner");
});

afterAll(() => quayside?.stop());

const label = (length: number) => "d".repeat(length);
const nested = (depth: number): unknown => (depth === 0 ? "x" : { a: nested(depth - 1) });
const keys = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, index) => [`k${index}`, index]));
/** As JSON exactly `characters` long. */
const sized = (characters: number) => ({ a: "x".repeat(characters - '{"a":""}'.length) });

/** Sent to both doors that take a person's fields; nothing of it may be stored. */
async function expectRefused(body: string, message: string | RegExp): Promise<void> {
  const id = randomUUID();
  const upsert = await people.call("POST", `/${id}/upsert`, { rawBody: body });
  expectProblem(upsert, 422, "validation_failed", message);
  expect(upsert.body.detail.length).toBeLessThan(400);
  expectProblem(await people.read(id), 404, "not_found");
  const operations = `{"operations":[{"op":"upsert","data":{"id":"${id}"}},{"op":"upsert","data":${body}}]}`;
  expectProblem(await people.call("POST", "/bulk", { rawBody: operations }), 422, "validation_failed");
  expectProblem(await people.read(id), 404, "not_found");
}

describe("the fields of a person are taken", () => {
  test.each([
    ["a name of 1 character", { name: "x" }],
    ["a name of 500 characters", { name: "n".repeat(500) }],
    ["a name with space around it", { name: " Ada " }],
    [
      "emoji of many parts",
      { name: "\u{1f468}\u200d\u{1f469}\u200d\u{1f467}\u200d\u{1f466} \u{1f3f3}\ufe0f\u200d\u{1f308}" },
    ],
    ["letters from right to left", { name: "\u0645\u0631\u062d\u0628\u0627 \u202e\u05e9\u05dc\u05d5\u05dd\u202c" }],
    ["combining characters, not composed", { name: "e\u0301 Z\u0351\u036b\u0343\u036a\u0302 \u1100\u1161" }],
    ["control characters", { name: "a\tb\nc\u0001d\u007f" }],
    ["markup", { name: "<script>alert(1)</script>", tags: ["{a,b}", '"', "\\", "NULL", "a,b"] }],
    [
      "100 tags of 100 characters",
      { tags: Array.from({ length: 100 }, (_, index) => `${index}`.padEnd(100, "\u00e9")) },
    ],
    ["no tags", { tags: [] }],
    ["200 attributes", { attributes: keys(200) }],
    ["a key of 128 characters", { attributes: { ["k".repeat(128)]: 1 } }],
    ["8 levels in an attribute", { attributes: nested(9) as object }],
    ["65,536 characters of attributes", { attributes: sized(65_536) }],
    [
      "keys that objects have by nature",
      { attributes: { constructor: { prototype: 1 }, toString: 2, hasOwnProperty: 3, toJSON: 4 } },
    ],
    [
      "keys that look like numbers, and odd ones",
      { attributes: { "1": "a", " ": "b", "\u{1f600}": "c", "a.b[c]": "d", $ref: "#/" } },
    ],
    [
      "numbers at the edges",
      { attributes: { big: 1.7976931348623157e308, small: 5e-324, int: 9007199254740991, no: -0.5 } },
    ],
    ["an email in capitals with a plus", { email: "ADA+Tag.x'y_z-1@Sub.Acme.EXAMPLE" }],
    ["an email of 254 characters", { email: `a@${label(60)}.${label(60)}.${label(60)}.${label(60)}.${"d".repeat(8)}` }],
    ["a domain of 253 characters", { domain: `${label(63)}.${label(63)}.${label(63)}.${label(61)}` }],
  ])("%s, and come back as they were sent", async (_, fields) => {
    const id = randomUUID();
    const made = await people.upsert(id, fields);
    expect([made.status, made.body]).toMatchObject([201, fields]);
    expect((await people.read(id)).body).toEqual(made.body);
    const bulk = await people.bulk([{ op: "upsert", data: { id, ...fields } }]);
    expect(bulk.body).toMatchObject({ succeeded: 1 });
    expect((await people.read(id)).body).toEqual(made.body);
  });

  test.each([
    ["b\u00fccher.example", "xn--bcher-kva.example"],
    ["B\u00dcCHER.Example", "xn--bcher-kva.example"],
    ["\u4f8b\u3048.\u30c6\u30b9\u30c8", "xn--r8jz45g.xn--zckzah"],
    ["ACME.example", "acme.example"],
    ["xn--bcher-kva.example", "xn--bcher-kva.example"],
    ["a-b.c-d.example", "a-b.c-d.example"],
  ])("the domain %s, which is kept as %s", async (given, kept) => {
    const { body } = await people.upsert(randomUUID(), { domain: given });
    expect(body.domain).toBe(kept);
    expect(body.companyId).toEqual(expect.any(String));
  });
});

describe("the fields of a person are refused, and nothing is stored:", () => {
  test.each([
    ["a name of 501 characters", { name: "n".repeat(501) }, /'name' is not valid: must have at most 500 characters/],
    ["a name of a megabyte", { name: "n".repeat(1_000_000) }, /'name' is not valid: must have at most 500 characters/],
    ["an empty name", { name: "" }, /'name' is not valid/],
    ["a name of blanks", { name: " \t\u00a0\u3000\n" }, "'name' is not valid: must not be blank"],
    ["a name that is null", { name: null }, /'name' is not valid/],
    ["a name that is a number", { name: 5 }, /'name' is not valid/],
    ["a name that is a list", { name: ["Ada"] }, /'name' is not valid/],
    ["a name with a NUL", { name: "a\u0000b" }, "'name' is not valid: must not contain a NUL character"],
    [
      "101 tags",
      { tags: Array.from({ length: 101 }, (_, index) => `t${index}`) },
      /must not have more than 100 items; this has 101/,
    ],
    ["a tag of 101 characters", { tags: ["t".repeat(101)] }, /'tags.0' is not valid/],
    ["an empty tag", { tags: ["ok", ""] }, /'tags.1' is not valid/],
    ["a tag of blanks", { tags: [" "] }, /must not begin or end with a space/],
    ["a tag with space around it", { tags: [" a"] }, /must not begin or end with a space/],
    ["a tag with a NUL", { tags: ["a\u0000"] }, /NUL/],
    ["tags that are text", { tags: "a,b" }, /'tags' is not valid/],
    ["tags that are null", { tags: null }, /'tags' is not valid/],
    ["201 attributes", { attributes: keys(201) }, /must not have more than 200 keys/],
    ["attributes that are a list", { attributes: [1] }, /'attributes' is not valid/],
    ["attributes that are null", { attributes: null }, /'attributes' is not valid/],
    ["attributes that are text", { attributes: "a" }, /'attributes' is not valid/],
    ["an empty key", { attributes: { "": 1 } }, /keys of 1 to 128 characters/],
    ["a key of 129 characters", { attributes: { ["k".repeat(129)]: 1 } }, /keys of 1 to 128 characters/],
    ["a deep key of 129 characters", { attributes: { a: { ["k".repeat(129)]: 1 } } }, /'attributes.a' is not valid/],
    ["a NUL in a key", { attributes: { "a\u0000": 1 } }, /NUL/],
    ["a NUL deep in a value", { attributes: { a: [{ b: "\u0000" }] } }, /NUL/],
    ["9 levels in an attribute", { attributes: nested(10) as object }, /nested more than 8 deep/],
    ["65,537 characters of attributes", { attributes: sized(65_537) }, /not be longer than 65536 characters/],
    ["a long list among the attributes", { attributes: { a: new Array(100_000).fill(0) } }, /not be longer than 65536/],
    ["an email that is empty", { email: "" }, /must be an email address/],
    ["an email with a space", { email: "a b@acme.example" }, /must be an email address/],
    ["an email with space around it", { email: " a@acme.example" }, /must be an email address/],
    ["an email with letters of other alphabets", { email: "\u00fcmit@acme.example" }, /must be an email address/],
    ["an email without a domain", { email: "ada@" }, /must be an email address/],
    ["an email of two", { email: "a@b.example,c@d.example" }, /must be an email address/],
    ["an email with two dots", { email: "a..b@acme.example" }, /must be an email address/],
    ["an email with a name", { email: "Ada <ada@acme.example>" }, /must be an email address/],
    ["an email with a line break", { email: "a@acme.example\n" }, /must be an email address/],
    ["an email at an address of the network", { email: "a@[127.0.0.1]" }, /must be an email address/],
    [
      "an email of 255 characters",
      { email: `a@${label(60)}.${label(60)}.${label(60)}.${label(60)}.${"d".repeat(9)}` },
      /not have more than 254/,
    ],
    ["an email that is null", { email: null }, /'email' is not valid/],
    ["a domain without a dot", { domain: "localhost" }, /must be a domain name such as example.com/],
    ["a domain with a space", { domain: "ac me.example" }, /must be a domain name/],
    ["a domain that is an address", { domain: "https://acme.example/" }, /must be a domain name/],
    ["a domain with a port", { domain: "acme.example:443" }, /must be a domain name/],
    ["a domain with a hyphen in front", { domain: "-acme.example" }, /must be a domain name/],
    ["a domain with an empty label", { domain: "acme..example" }, /must be a domain name/],
    ["a domain with a dot behind", { domain: "acme.example." }, /must be a domain name/],
    ["a domain with a label of 64", { domain: `${label(64)}.example` }, /must be a domain name/],
    [
      "a domain of 254 characters",
      { domain: `${label(63)}.${label(63)}.${label(63)}.${label(62)}` },
      /'domain' is not valid/,
    ],
    ["an unknown field", { nickname: "x" }, "'nickname' is not valid: This field is not known here."],
    ["a score", { score: 100 }, "'score' is not valid: This field is not known here."],
    ["a field of all objects", { constructor: 1 }, "'constructor' is not valid: This field is not known here."],
  ])("%s", async (_, fields, message) => {
    await expectRefused(JSON.stringify(fields), message);
  });

  test.each([
    ["half of a surrogate pair in a name", '{"name":"a\\ud83d"}', /half of a surrogate pair/],
    ["half of a surrogate pair in a tag", '{"tags":["\\udc00"]}', /half of a surrogate pair/],
    ["half of a surrogate pair in an attribute", '{"attributes":{"a":["\\ud83d"]}}', /half of a surrogate pair/],
    ["half of a surrogate pair in a key", '{"attributes":{"a":{"\\ud83d":1}}}', /half of a surrogate pair/],
    ["a number that JSON can write and no computer can hold", '{"attributes":{"a":1e999}}', /number beyond/],
    ["the same deep in a list", '{"attributes":{"a":[[-1e999]]}}', /number beyond/],
    ["'__proto__' as an attribute", '{"attributes":{"__proto__":{"admin":true}}}', /'__proto__' is not accepted/],
    ["'__proto__' as a field", '{"__proto__":{"name":"x"}}', /'__proto__' is not accepted/],
    ["'__proto__' in disguise", '{"attributes":{"a":{"\\u005f_proto__":1}}}', /'__proto__' is not accepted/],
  ])("%s", async (_, body, message) => {
    await expectRefused(body, message);
    expect(Object.hasOwn(Object.prototype, "admin")).toBe(false);
  });

  test.each([
    ["1.2", 422],
    ["127.0.0.1", 422],
    ["0x7f.1", 422],
    [`${"\u00e9".repeat(63)}.example`, 422],
  ])("the domain %s, which is none", async (domain, status) => {
    const id = randomUUID();
    const reply = await people.upsert(id, { domain });
    expectProblem(reply, status, "validation_failed", `'${domain}' is no domain name.`);
    expect(reply.body.errors).toEqual([{ field: "domain", code: "invalid_value", message: reply.body.detail }]);
    expectProblem(await people.read(id), 404, "not_found");
    // The batch as such is right; only its one operation is not.
    const { body } = await people.bulk([{ op: "upsert", data: { id, domain, name: "half" } }]);
    expect(body).toMatchObject({ failed: 1, results: [{ ok: false, error: `'${domain}' is no domain name.` }] });
    expectProblem(await people.read(id), 404, "not_found");
  });

  test("attributes that are too much together with those that are there", async () => {
    const id = await people.make({ name: "Full", attributes: keys(200) });
    const before = (await people.read(id)).body;
    expectProblem(
      await people.patch(id, { attributes: { more: 1 } }),
      422,
      "validation_failed",
      /at most 200 attributes/,
    );
    expect((await people.patch(id, { attributes: { more: 1, k0: null } })).status).toBe(200);
    await people.patch(id, { attributes: { more: null, k0: 0 } });
    const large = await people.make({ attributes: sized(60_000) });
    const reply = await people.patch(large, { attributes: { b: "x".repeat(6_000) } });
    expectProblem(reply, 422, "validation_failed", /at most 65536 characters/);
    expect((await people.read(id)).body.attributes).toEqual(before.attributes);
    expect((await people.read(large)).body.attributes).toEqual(sized(60_000));
  });
});

describe("a body of people", () => {
  test.each([
    ["is no JSON", "{name}", 400, "malformed_body"],
    ["ends early", '{"name":"Ada"', 400, "malformed_body"],
    ["is a list", "[]", 400, "malformed_body"],
    ["is null", "null", 400, "malformed_body"],
    ["is text", '"Ada"', 400, "malformed_body"],
    ["begins with a mark of byte order", '\ufeff{"name":"Ada"}', 400, "malformed_body"],
  ])("is refused when it %s", async (_, rawBody, status, code) => {
    const id = randomUUID();
    for (const path of [`/${id}/upsert`, "/bulk"]) {
      expectProblem(await people.call("POST", path, { rawBody }), status, code);
    }
    expectProblem(await people.call("PATCH", `/${await people.make()}`, { rawBody }), status, code);
    expectProblem(await people.read(id), 404, "not_found");
  });

  test("is 400 when it is not UTF-8, instead of being stored with other characters", async () => {
    const id = randomUUID();
    const reply = await sendRaw(quayside.baseUrl, {
      method: "POST",
      path: `/v1/crm/people/${id}/upsert`,
      headers: { authorization: `Bearer ${people.token}`, "content-type": "application/json" },
      chunks: [Buffer.from('{"name":"J\u00f6rg"}', "latin1")],
    });
    expect([reply.status, JSON.parse(reply.text)]).toMatchObject([
      400,
      { code: "malformed_body", detail: "The body is not valid UTF-8." },
    ]);
    expectProblem(await people.read(id), 404, "not_found");
  });

  test("may come in pieces that cut a character", async () => {
    const id = randomUUID();
    const bytes = Buffer.from('{"name":"\u{1f600}\u00f6"}');
    const reply = await sendRaw(quayside.baseUrl, {
      method: "POST",
      path: `/v1/crm/people/${id}/upsert`,
      headers: { authorization: `Bearer ${people.token}`, "content-type": "application/json" },
      chunks: Array.from(bytes, (_, index) => bytes.subarray(index, index + 1)),
    });
    expect([reply.status, JSON.parse(reply.text).name]).toEqual([201, "\u{1f600}\u00f6"]);
  });

  test("is 415 when it is of another kind", async () => {
    const id = randomUUID();
    for (const type of ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data"]) {
      const headers = { "content-type": type };
      const reply = await people.call("POST", `/${id}/upsert`, { rawBody: '{"name":"x"}', headers });
      expectProblem(reply, 415, "unsupported_media_type");
    }
    expectProblem(await people.read(id), 404, "not_found");
  });

  test("is 413 over 1 MiB, and over 16 MiB for many at once", async () => {
    const id = randomUUID();
    const large = (bytes: number) => `{"name":"${"n".repeat(bytes - '{"name":""}'.length)}"}`;
    expectProblem(await people.call("POST", `/${id}/upsert`, { rawBody: large(MIB) }), 422, "validation_failed");
    expectProblem(await people.call("POST", `/${id}/upsert`, { rawBody: large(MIB + 1) }), 413, "payload_too_large");
    expectProblem(await people.call("POST", "/bulk", { rawBody: large(16 * MIB) }), 422, "validation_failed");
    expectProblem(await people.call("POST", "/bulk", { rawBody: large(16 * MIB + 1) }), 413, "payload_too_large");
    expectProblem(await people.read(id), 404, "not_found");
  });

  test("with a field twice counts the last one", async () => {
    const id = randomUUID();
    const reply = await people.call("POST", `/${id}/upsert`, { rawBody: '{"name":"first","name":"second"}' });
    expect([reply.status, reply.body.name]).toEqual([201, "second"]);
  });

  test("with thousands of faults is told the first hundred of them, and how many there are", async () => {
    const operations = Array.from({ length: 1_000 }, () => ({ op: "tag", personId: 1, tag: 2 }));
    const reply = await people.bulk(operations);
    expectProblem(reply, 422, "validation_failed", /\(and 1999 more\)$/);
    expect(reply.body.errors).toHaveLength(100);
  });
});
