import { isIP } from "node:net";
import ipaddr from "ipaddr.js";

type Range = readonly [ipaddr.IPv4 | ipaddr.IPv6, number];

/** All of the IPv6 internet lies here (RFC 4291, section 2.4; IANA's registry of global unicast addresses). */
const GLOBAL_IPV6 = range("2000::/3");
/** Translators put an IPv4 address into the last 32 bits of this one (RFC 6052, section 2.1). */
const NAT64 = range("64:ff9b::/96");

/** What `allowPrivateNetworks` opens. Link-local addresses are not among them: clouds keep credentials there. */
const PRIVATE_RANGES: ReadonlySet<string> = new Set(["private", "loopback", "carrierGradeNat", "uniqueLocal"]);

/** Clouds' metadata services outside of link-local addresses: never delivered to, wherever private networks are. */
const METADATA: readonly Range[] = [
  range("100.100.100.200/32"), // Alibaba
  range("168.63.129.16/32"), // Azure; of the public range, and yet the host's own
  range("fd00:ec2::/32"), // Amazon
  range("fd20:ce::/32"), // Google
  range("fd00:42::42/128"), // Scaleway
];

function range(cidr: string): Range {
  return ipaddr.parseCIDR(cidr);
}

function within(address: ipaddr.IPv4 | ipaddr.IPv6, [network, bits]: Range): boolean {
  return address.kind() === network.kind() && address.match(network, bits);
}

/**
 * Whether a delivery may connect to this address: one of the public internet, or also private, loopback, shared (RFC 6598)
 * and unique local ones when private networks are allowed. Everything else of IANA's special-purpose registries
 * (RFC 6890) is refused always, and so are all ways to write an IPv4 address in an IPv6 one, save the translator's
 * prefix with a public address in it, which is how IPv6-only networks reach the IPv4 internet.
 */
export function isDeliverableAddress(text: string, allowPrivateNetworks: boolean): boolean {
  // The library also takes octal and short forms, which a resolver never gives; a zone names an interface of ours.
  if (isIP(text) === 0 || text.includes("%")) return false;
  const address = ipaddr.parse(text);
  if (METADATA.some((metadata) => within(address, metadata))) return false;
  if (allowPrivateNetworks && PRIVATE_RANGES.has(address.range())) return true;
  if (within(address, NAT64)) return isPublicEmbedded(address);
  if (address.kind() === "ipv6" && !within(address, GLOBAL_IPV6)) return false;
  return address.range() === "unicast";
}

function isPublicEmbedded(address: ipaddr.IPv4 | ipaddr.IPv6): boolean {
  return isDeliverableAddress(address.toByteArray().slice(-4).join("."), false);
}
