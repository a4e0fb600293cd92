import { describe, expect, it } from "vitest";
import { explainRefusedBranch } from "./branch-name.ts";
import { isPublicAddress, resolvePublicAddress } from "./public-address.ts";
import { redactCredentials } from "./redact.ts";
import { explainRefusedRepo } from "./repo-address.ts";

describe("explainRefusedRepo", () => {
  it.each([
    "https://github.com/owner/name.git",
    "https://user:secret@example.com/x.git",
    "http://localhost:3000/x.git",
    "ssh://git@example.com:2222/x.git",
    "git://example.com/x.git",
    "git@github.com:owner/name.git",
    "file:///srv/git/x.git",
    "/srv/git/x.git",
    "https://[::1]/x.git",
  ])("accepts %s", (repo) => {
    expect(explainRefusedRepo(repo, null)).toBeNull();
  });

  it.each([
    "",
    "-x",
    "--upload-pack=touch /tmp/x",
    "ext::sh -c touch",
    "ext::sh",
    "fd::17",
    "foo::https://x/y",
    "a b",
    "https://x/a b",
    "https://x/\u0000",
    "https://x/\u0085y",
    "relative/path",
    "./x",
    "ftp://example.com/x",
    "file://host/x",
    "https://example.com",
    "ssh://-oProxyCommand=x/y",
    "-oProxyCommand=x@host:y",
    "git@-host:x",
    "ssh://-x@host/y",
    "git@host$(id):x",
    `https://x/${"y".repeat(2048)}`,
    "C:\\x",
    "host:path",
    "file:///srv/a%0ab",
  ])("refuses %j", (repo) => {
    expect(explainRefusedRepo(repo, null)).toEqual(expect.any(String));
  });

  it("accepts a path only inside one of the roots", () => {
    const roots = ["/srv/git"];
    expect(explainRefusedRepo("/srv/git/a.git", roots)).toBeNull();
    expect(explainRefusedRepo("file:///srv/git/a.git", roots)).toBeNull();
    for (const path of [
      "/srv/git/../secret",
      "/srv/gitother",
      "/etc",
      "file:///srv/git/%2e%2e/secret",
      "file:///srv/git/..%2fx",
    ]) {
      expect(explainRefusedRepo(path, roots), path).toEqual(expect.any(String));
    }
    expect(explainRefusedRepo("/srv/git/a.git", [])).toEqual(expect.any(String));
  });

  it("names no secret in its answer", () => {
    expect(explainRefusedRepo("ftp://user:hunter2@example.com/x", null)).not.toContain("hunter2");
  });
});

describe("explainRefusedBranch", () => {
  it.each(["main", "feature/x-1", "v1.2", "ünï", "a@b", "x-"])("accepts %s", (branch) => {
    expect(explainRefusedBranch(branch)).toBeNull();
  });

  it.each([
    "",
    "-x",
    "@",
    "a..b",
    "a b",
    "a~1",
    "a^",
    "a:b",
    "a?",
    "a*",
    "a[",
    "a\\b",
    "/a",
    "a/",
    "a//b",
    ".a",
    "a/.b",
    "a.lock",
    "a.lock/b",
    "a.",
    "a@{1}",
    "a\u0007",
    "a\u007f",
    "x".repeat(256),
  ])("refuses %j", (branch) => {
    expect(explainRefusedBranch(branch)).toEqual(expect.any(String));
  });
});

describe("isPublicAddress", () => {
  it.each(["1.1.1.1", "140.82.121.3", "2606:4700::1111"])("accepts %s", (address) => {
    expect(isPublicAddress(address)).toBe(true);
  });

  it.each([
    "0.0.0.0",
    "10.1.2.3",
    "100.64.0.1",
    "127.0.0.1",
    "169.254.169.254",
    "172.31.0.1",
    "192.168.1.1",
    "224.0.0.1",
    "255.255.255.255",
    "::",
    "::1",
    "::ffff:127.0.0.1",
    "::ffff:a00:1",
    "64:ff9b::7f00:1",
    "64:ff9b:1::1",
    "2002:7f00:1::",
    "2001:0:1::1",
    "fc00::1",
    "fd00:ec2::254",
    "fe80::1",
    "ff02::1",
    "not an address",
  ])("refuses %s", (address) => {
    expect(isPublicAddress(address)).toBe(false);
  });

  it("refuses a name that leads to loopback", async () => {
    expect(await resolvePublicAddress("localhost")).toBeNull();
  });
});

describe("redactCredentials", () => {
  it("hides passwords and tokens anywhere in a text", () => {
    const text = redactCredentials("fatal: 'https://u:p@ss@h/x' and https://tok@h/x, ssh://git:pw@h/x, ssh://git@h/x");
    expect(text).toBe("fatal: 'https://***@h/x' and https://***@h/x, ssh://git:***@h/x, ssh://git@h/x");
  });
});
