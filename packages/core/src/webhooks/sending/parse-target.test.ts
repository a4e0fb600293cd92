import { expect, test } from "vitest";
import { parseTarget } from "./parse-target.ts";

const PUBLIC = { allowPrivateNetworks: false, requireHttps: true };

test("a URL is taken apart", () => {
  expect(parseTarget("https://Hooks.Example.com:8443/a%20b?c=d&e#f", PUBLIC)).toEqual({
    origin: "https://hooks.example.com:8443",
    hostname: "hooks.example.com",
    port: 8443,
    secure: true,
    path: "/a%20b?c=d&e",
  });
});

test("each scheme has its port", () => {
  expect(parseTarget("https://example.com", PUBLIC).port).toBe(443);
  expect(parseTarget("http://example.com", { ...PUBLIC, requireHttps: false }).port).toBe(80);
});

test.each([
  ["2130706433", "127.0.0.1"],
  ["0x7f000001", "127.0.0.1"],
  ["0177.0.0.1", "127.0.0.1"],
  ["127.1", "127.0.0.1"],
  ["127.0.0.1.", "127.0.0.1"],
  ["0", "0.0.0.0"],
  ["１２７.０.０.１", "127.0.0.1"],
  ["127%2e0.0.1", "127.0.0.1"],
  ["169.254.43518", "169.254.169.254"],
  ["[::ffff:127.0.0.1]", "::ffff:7f00:1"],
  ["[0:0:0:0:0:0:0:1]", "::1"],
])("the host %s is known as %s", (written, hostname) => {
  expect(parseTarget(`https://${written}/`, PUBLIC).hostname).toBe(hostname);
});

test.each([
  ["no URL", "example.com/hook"],
  ["nothing", ""],
  ["another scheme", "ftp://example.com/"],
  ["a file", "file:///etc/passwd"],
  ["no host", "https://"],
  ["a user", "https://user@example.com/"],
  ["a password", "https://:secret@example.com/"],
  ["port 0", "https://example.com:0/"],
  ["a port too high", "https://example.com:65536/"],
  ["a zone", "https://[fe80::1%25eth0]/"],
  ["plain HTTP", "http://example.com/"],
])("refused: %s", (_what, url) => {
  expect(() => parseTarget(url, PUBLIC)).toThrow(expect.objectContaining({ errorClass: "invalid_url" }));
});

test("plain HTTP is taken where it is not forbidden, and where private networks are allowed", () => {
  expect(parseTarget("http://example.com/", { ...PUBLIC, requireHttps: false }).secure).toBe(false);
  expect(parseTarget("http://example.com/", { allowPrivateNetworks: true, requireHttps: true }).secure).toBe(false);
});
