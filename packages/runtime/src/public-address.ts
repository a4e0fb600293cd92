import { lookup } from "node:dns/promises";
import { BlockList, isIP } from "node:net";

const IPV4_RANGES = [
  ["0.0.0.0", 8],
  ["10.0.0.0", 8],
  ["100.64.0.0", 10],
  ["127.0.0.0", 8],
  ["169.254.0.0", 16],
  ["172.16.0.0", 12],
  ["192.0.0.0", 24],
  ["192.0.2.0", 24],
  ["192.88.99.0", 24],
  ["192.168.0.0", 16],
  ["198.18.0.0", 15],
  ["198.51.100.0", 24],
  ["203.0.113.0", 24],
  ["224.0.0.0", 4],
  ["240.0.0.0", 4],
] as const;

// Besides the private ranges: every way to write an IPv4 address inside an IPv6 one (mapped, NAT64, 6to4, Teredo).
const IPV6_RANGES = [
  ["::", 96],
  ["::ffff:0:0", 96],
  ["64:ff9b::", 96],
  ["64:ff9b:1::", 48],
  ["100::", 64],
  ["2001::", 32],
  ["2001:db8::", 32],
  ["2002::", 16],
  ["fc00::", 7],
  ["fe80::", 10],
  ["fec0::", 10],
  ["ff00::", 8],
] as const;

// Two lists: a range of embedded IPv4 addresses would otherwise refuse every IPv4 address too.
const refusedIpv4 = new BlockList();
const refusedIpv6 = new BlockList();
for (const [net, prefix] of IPV4_RANGES) refusedIpv4.addSubnet(net, prefix, "ipv4");
for (const [net, prefix] of IPV6_RANGES) refusedIpv6.addSubnet(net, prefix, "ipv6");

/** True for an address of the public internet; false for private, loopback, link-local, metadata and embedded ones. */
export function isPublicAddress(address: string): boolean {
  const family = isIP(address);
  if (family === 0) return false;
  return family === 4 ? !refusedIpv4.check(address, "ipv4") : !refusedIpv6.check(address, "ipv6");
}

/**
 * Resolves a host to an address that may be contacted. Null when any of its addresses is not public, so that a name with
 * a mixed answer cannot be steered to the private one. Rejects with the resolver's error when the name is unknown.
 */
export async function resolvePublicAddress(host: string): Promise<string | null> {
  const found = isIP(host) === 0 ? await lookup(host, { all: true, verbatim: true }) : [{ address: host }];
  if (found.some(({ address }) => !isPublicAddress(address))) return null;
  return found[0]?.address ?? null;
}
