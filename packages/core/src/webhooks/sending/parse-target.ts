import { SendFailure } from "./send-failure.ts";

export interface TargetRules {
  allowPrivateNetworks: boolean;
  /** Refuses `http:`, which private networks may use all the same. */
  requireHttps: boolean;
}

export interface Target {
  /** Scheme, host and port as the URL standard writes them: what a kept connection belongs to. */
  origin: string;
  /** Name or address literal, without the brackets of IPv6. */
  hostname: string;
  port: number;
  secure: boolean;
  /** Path and query. */
  path: string;
}

/**
 * Takes a delivery URL apart. The URL standard's parser turns every odd form of an IPv4 address (decimal, octal, hex,
 * short, full-width) into the dotted one, so no literal gets by the check of addresses. Throws `invalid_url`.
 */
export function parseTarget(text: string, { allowPrivateNetworks, requireHttps }: TargetRules): Target {
  const url = URL.parse(text);
  if (!url) throw new SendFailure("invalid_url", "The URL cannot be read.");
  if (url.protocol !== "https:" && url.protocol !== "http:") {
    throw new SendFailure("invalid_url", "The URL must begin with https:// or http://.");
  }
  const secure = url.protocol === "https:";
  if (!secure && requireHttps && !allowPrivateNetworks) {
    throw new SendFailure("invalid_url", "The URL must begin with https://.");
  }
  if (url.username !== "" || url.password !== "") {
    throw new SendFailure("invalid_url", "The URL must not contain a user name or password.");
  }
  if (url.port === "0") throw new SendFailure("invalid_url", "The URL must not name port 0.");
  return {
    origin: url.origin,
    hostname: url.hostname.replace(/^\[|\]$/g, ""),
    port: url.port === "" ? defaultPort(secure) : Number(url.port),
    secure,
    path: `${url.pathname}${url.search}`,
  };
}

function defaultPort(secure: boolean): number {
  return secure ? 443 : 80;
}
