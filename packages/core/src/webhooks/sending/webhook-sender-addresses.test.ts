import { type LookupFunction, Socket, type TcpNetConnectOpts } from "node:net";
import fc from "fast-check";
import { afterEach, expect, test, vi } from "vitest";
import { isDeliverableAddress } from "./delivery-address.ts";
import { deliver, receiverOf, senderOf } from "./testing/receivers.ts";
import { WebhookSender } from "./webhook-sender.ts";

const PUBLIC = { address: "93.184.216.34", family: 4 };
const LOOPBACK = { address: "127.0.0.1", family: 4 };

afterEach(() => vi.restoreAllMocks());

/** Notes the addresses that sockets would connect to, and refuses each. */
function connectionsNoted(): string[] {
  const noted: string[] = [];
  vi.spyOn(Socket.prototype, "connect").mockImplementation(function (this: Socket, ...args: unknown[]) {
    // `net.connect` passes its own arguments on in an array.
    const options = [args[0]].flat()[0] as TcpNetConnectOpts & { lookup: LookupFunction };
    options.lookup(options.host ?? "", { all: true }, (_error, addresses) => {
      for (const each of [addresses].flat()) noted.push(typeof each === "string" ? each : each.address);
      const error = Object.assign(new Error("refused by the test"), { code: "ECONNREFUSED" });
      process.nextTick(() => this.destroy(error));
    });
    return this;
  });
  return noted;
}

test("a name that is public at first and private a moment later is looked up once", async () => {
  const noted = connectionsNoted();
  const lookup = vi.fn(async () => [LOOPBACK]).mockImplementationOnce(async () => [PUBLIC]);
  const outcome = await deliver(senderOf({ allowPrivateNetworks: false, lookup }), "http://rebind.example.test/");
  expect(outcome.error).toMatchObject({ class: "connect" });
  expect(lookup).toHaveBeenCalledOnce();
  expect(noted).toEqual([PUBLIC.address]);
});

test("the next delivery looks the name up anew, and is refused", async () => {
  const noted = connectionsNoted();
  const lookup = vi.fn(async () => [LOOPBACK]).mockImplementationOnce(async () => [PUBLIC]);
  const sender = senderOf({ allowPrivateNetworks: false, lookup });
  await deliver(sender, "http://rebind.example.test/");
  expect((await deliver(sender, "http://rebind.example.test/")).error).toMatchObject({ class: "refused_address" });
  expect(noted).toEqual([PUBLIC.address]);
});

test.each([
  ["one private among public ones", [PUBLIC, { address: "10.0.0.5", family: 4 }]],
  ["metadata behind many public ones", [...Array(20).fill(PUBLIC), { address: "169.254.169.254", family: 4 }]],
  ["loopback of IPv6", [PUBLIC, { address: "::1", family: 6 }]],
  ["loopback mapped into IPv6", [{ address: "::ffff:127.0.0.1", family: 6 }]],
  ["what is no address", [{ address: "localhost", family: 4 }]],
])("a name that resolves to %s is refused, and the address not told", async (_what, addresses) => {
  const noted = connectionsNoted();
  const lookup = async () => addresses;
  const outcome = await deliver(senderOf({ allowPrivateNetworks: false, lookup }), "http://mixed.example.test/");
  expect(outcome).toMatchObject({
    address: null,
    error: { class: "refused_address", message: "The host has an address that nothing is delivered to." },
  });
  expect(noted).toEqual([]);
});

test.each([
  "http://127.0.0.1/",
  "http://2130706433/",
  "http://0x7f.1/",
  "http://0177.0.0.1/",
  "http://127.1:8080/",
  "http://0/",
  "http://[::1]/",
  "http://[::]/",
  "http://[::ffff:127.0.0.1]/",
  "http://[::127.0.0.1]/",
  "http://[64:ff9b::7f00:1]/",
  "http://[2002:7f00:1::]/",
  "http://[fd00:ec2::254]/",
  "http://[fe80::1]/",
  "http://169.254.169.254/latest/meta-data/",
  "http://①⑥⑨.②⑤④.①⑥⑨.②⑤④/",
])("%s is refused without a look-up", async (url) => {
  const noted = connectionsNoted();
  const lookup = vi.fn(async () => [PUBLIC]);
  const outcome = await deliver(senderOf({ allowPrivateNetworks: false, lookup }), url);
  expect(outcome.error).toMatchObject({ class: "refused_address" });
  expect(lookup).not.toHaveBeenCalled();
  expect(noted).toEqual([]);
});

test("the names of this machine are refused when the system looks them up", async () => {
  const outcome = await deliver(senderOf({ allowPrivateNetworks: false }), "http://localhost/");
  expect(outcome.error).toMatchObject({ class: "refused_address" });
});

test.each([
  ["an error", () => Promise.reject(Object.assign(new Error("x"), { code: "ENOTFOUND" })), "(ENOTFOUND)"],
  [
    "a throw",
    () => {
      throw new TypeError("x");
    },
    "(TypeError)",
  ],
  ["no address", async () => [], "no address"],
])("a look-up that ends with %s is a fault of DNS, each time anew", async (_what, answer, message) => {
  const lookup = vi.fn(answer);
  const sender = senderOf({ lookup });
  for (const times of [1, 2]) {
    const outcome = await deliver(sender, "http://nowhere.example.test/");
    expect(outcome.error).toMatchObject({ class: "dns", message: expect.stringContaining(message) });
    expect(lookup).toHaveBeenCalledTimes(times);
  }
});

test("deliveries at once to one host share a look-up that does not end", async () => {
  const lookup = vi.fn(() => new Promise<never>(() => {}));
  const sender = senderOf({ lookup, timeoutMs: 100 });
  const outcomes = await Promise.all(Array.from({ length: 5 }, () => deliver(sender, "http://slow.example.test/")));
  expect(outcomes.every(({ error }) => error?.class === "timeout")).toBe(true);
  expect(lookup).toHaveBeenCalledOnce();
});

test("an address that does not answer is passed over for the next one", async () => {
  const receiver = await receiverOf((_req, res) => res.end("ok"));
  const lookup = async () => [{ address: "127.0.0.9", family: 4 }, LOOPBACK];
  const outcome = await deliver(senderOf({ lookup }), `http://two.example.test:${receiver.port}/`);
  expect(outcome).toMatchObject({ statusCode: 200, address: "127.0.0.1" });
});

test("when no address of several can be connected to, the error of one is told", async () => {
  const lookup = async () => [
    { address: "127.0.0.8", family: 4 },
    { address: "127.0.0.9", family: 4 },
  ];
  const outcome = await deliver(senderOf({ lookup }), "http://two.example.test:9/");
  expect(outcome.error).toEqual({ class: "connect", message: "The connection could not be made (ECONNREFUSED)." });
});

test("plain HTTP is refused where HTTPS is required", async () => {
  const sender = senderOf({ allowPrivateNetworks: false, requireHttps: true, lookup: async () => [PUBLIC] });
  expect((await deliver(sender, "http://example.test/")).error).toMatchObject({ class: "invalid_url" });
});

const schemes = fc.constantFrom("http://", "https://", "HTTP:\\\\", "//", "ftp://", "");
const hosts = fc.oneof(
  fc.domain(),
  fc.ipV4Extended(),
  fc.ipV6().map((address) => `[${address}]`),
  fc.ipV4().map((address) => `[::ffff:${address}]`),
  fc.nat(2 ** 32).map(String),
  fc.string({ maxLength: 12 }),
  fc.constantFrom("localhost", "localhost.", "a@127.0.0.1", "example.com:0", "[::1%25lo]", "１２７.1"),
);
const urls = fc.oneof(
  fc.tuple(schemes, hosts, fc.string({ maxLength: 8 })).map((parts) => parts.join("")),
  fc.webUrl(),
  fc.string(),
);
const addresses = fc.array(fc.oneof(fc.ipV4(), fc.ipV6(), fc.constant("127.0.0.1"), fc.string({ maxLength: 5 })), {
  maxLength: 3,
});

test("no URL and no answer of DNS makes send reject or connect to an address that is not public", async () => {
  const noted = connectionsNoted();
  let found: string[] = [];
  const lookup = async () => found.map((address) => ({ address, family: address.includes(":") ? 6 : 4 }));
  const sender = new WebhookSender({ allowPrivateNetworks: false, requireHttps: false, timeoutMs: 1_000, lookup });
  await fc.assert(
    fc.asyncProperty(urls, addresses, async (url, answer) => {
      found = answer;
      const outcome = await deliver(sender, url);
      expect(outcome.error?.class).toMatch(/^(dns|connect|refused_address|invalid_url)$/);
    }),
    { numRuns: 500 },
  );
  sender.close();
  expect(noted.filter((address) => !isDeliverableAddress(address, false))).toEqual([]);
  expect(noted.length).toBeGreaterThan(10);
});
