import fc from "fast-check";
import { expect, test } from "vitest";
import { isDeliverableAddress } from "./delivery-address.ts";

test.each([
  "1.1.1.1",
  "8.8.8.8",
  "93.184.216.34",
  "100.63.255.255",
  "100.128.0.0",
  "172.15.255.255",
  "172.32.0.0",
  "223.255.255.255",
  "2606:4700:4700::1111",
  "2a00:1450:4001::200e",
  "64:ff9b::8.8.8.8",
])("%s is of the public internet", (address) => {
  expect(isDeliverableAddress(address, false)).toBe(true);
});

const PRIVATE = [
  "10.0.0.1",
  "172.16.0.1",
  "192.168.1.1",
  "127.0.0.1",
  "127.255.255.255",
  "100.64.0.1",
  "::1",
  "fd12::1",
];

test.each(PRIVATE)("%s is delivered to when private networks are allowed, else not", (address) => {
  expect(isDeliverableAddress(address, false)).toBe(false);
  expect(isDeliverableAddress(address, true)).toBe(true);
});

test.each([
  ["this network", "0.0.0.0"],
  ["this network", "0.1.2.3"],
  ["link-local, with the metadata of clouds", "169.254.169.254"],
  ["link-local", "169.254.0.1"],
  ["metadata of Amazon", "fd00:ec2::254"],
  ["metadata of Alibaba", "100.100.100.200"],
  ["metadata of Google", "fd20:ce::254"],
  ["metadata of Scaleway", "fd00:42::42"],
  ["the host of Azure", "168.63.129.16"],
  ["protocol assignments", "192.0.0.192"],
  ["documentation", "192.0.2.1"],
  ["documentation", "198.51.100.1"],
  ["documentation", "203.0.113.1"],
  ["6to4 relays", "192.88.99.1"],
  ["benchmarking", "198.18.0.1"],
  ["multicast", "224.0.0.1"],
  ["multicast", "239.255.255.255"],
  ["reserved", "240.0.0.1"],
  ["broadcast", "255.255.255.255"],
  ["unspecified", "::"],
  ["IPv4-compatible", "::127.0.0.1"],
  ["IPv4-compatible", "::8.8.8.8"],
  ["IPv4-mapped loopback", "::ffff:127.0.0.1"],
  ["IPv4-mapped, hex", "::ffff:7f00:1"],
  ["IPv4-mapped public", "::ffff:8.8.8.8"],
  ["IPv4-translated", "::ffff:0:127.0.0.1"],
  ["NAT64 of loopback", "64:ff9b::127.0.0.1"],
  ["NAT64 of private", "64:ff9b::10.0.0.1"],
  ["NAT64 of metadata", "64:ff9b::a9fe:a9fe"],
  ["NAT64 of a network's own", "64:ff9b:1::8.8.8.8"],
  ["Teredo", "2001:0:4136:e378:8000:63bf:3fff:fdd2"],
  ["ORCHID", "2001:20::1"],
  ["documentation", "2001:db8::1"],
  ["documentation", "3fff::1"],
  ["6to4 of loopback", "2002:7f00:1::"],
  ["6to4 of private", "2002:a00:1::1"],
  ["discard only", "100::1"],
  ["segment routing", "5f00::1"],
  ["link-local", "fe80::1"],
  ["link-local with a zone", "fe80::1%eth0"],
  ["site-local", "fec0::1"],
  ["multicast", "ff02::1"],
  ["not yet assigned", "4000::1"],
  ["public with a zone", "2606:4700::1%lo"],
  ["octal", "0177.0.0.1"],
  ["short", "127.1"],
  ["a number", "2130706433"],
  ["a name", "localhost"],
  ["nothing", ""],
])("refused everywhere: %s, %s", (_what, address) => {
  expect(isDeliverableAddress(address, false)).toBe(false);
  expect(isDeliverableAddress(address, true)).toBe(false);
});

test("whatever the text, the answer is yes or no", () => {
  fc.assert(
    fc.property(fc.oneof(fc.string(), fc.ipV4(), fc.ipV4Extended(), fc.ipV6()), fc.boolean(), (text, allowed) => {
      expect(isDeliverableAddress(text, allowed)).toBeTypeOf("boolean");
    }),
  );
});
