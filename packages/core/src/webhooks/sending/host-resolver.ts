import type { LookupAddress } from "node:dns";
import { isIP } from "node:net";
import { isDeliverableAddress } from "./delivery-address.ts";
import { codeOf, SendFailure } from "./send-failure.ts";

/** The shape of `lookup` of `node:dns/promises`. */
export type HostLookup = (hostname: string, options: { all: true }) => Promise<LookupAddress[]>;

/** More are not tried; all are checked. */
const MAX_ADDRESSES = 8;

/** Gives the addresses of a host that may be connected to. */
export class HostResolver {
  readonly #lookup: HostLookup;
  readonly #allowPrivateNetworks: boolean;
  readonly #underWay = new Map<string, Promise<LookupAddress[]>>();

  constructor({ lookup, allowPrivateNetworks }: { lookup: HostLookup; allowPrivateNetworks: boolean }) {
    this.#lookup = lookup;
    this.#allowPrivateNetworks = allowPrivateNetworks;
  }

  /**
   * One look-up; a host of which any address is refused is refused, so that a mixed answer cannot steer a delivery to
   * the private one. Throws `dns` or `refused_address`, or the signal's reason.
   */
  async resolve(hostname: string, signal: AbortSignal): Promise<LookupAddress[]> {
    const family = isIP(hostname);
    const found = family === 0 ? await this.#find(hostname, signal) : [{ address: hostname, family }];
    if (found.length === 0) throw new SendFailure("dns", "The host has no address.");
    // The message does not tell the address: it may be one of a network that the endpoint's owner cannot see into.
    if (!found.every(({ address }) => isDeliverableAddress(address, this.#allowPrivateNetworks))) {
      throw new SendFailure("refused_address", "The host has an address that nothing is delivered to.");
    }
    return found.slice(0, MAX_ADDRESSES);
  }

  async #find(hostname: string, signal: AbortSignal): Promise<LookupAddress[]> {
    try {
      return await unlessAborted(this.#lookUpOnce(hostname), signal);
    } catch (error) {
      if (error instanceof SendFailure) throw error;
      throw new SendFailure("dns", `The host could not be looked up (${codeOf(error)}).`, error);
    }
  }

  /**
   * The system's look-up holds one of a few threads of the process and cannot be called off, so a host whose name server
   * does not answer gets one of them, not one for every delivery.
   */
  #lookUpOnce(hostname: string): Promise<LookupAddress[]> {
    const underWay = this.#underWay.get(hostname);
    if (underWay) return underWay;
    const started = Promise.resolve()
      .then(() => this.#lookup(hostname, { all: true }))
      .finally(() => this.#underWay.delete(hostname));
    this.#underWay.set(hostname, started);
    return started;
  }
}

async function unlessAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const onAbort = () => reject(signal.reason);
  signal.addEventListener("abort", onAbort, { once: true });
  if (signal.aborted) onAbort();
  try {
    return await Promise.race([promise, aborted]);
  } finally {
    signal.removeEventListener("abort", onAbort);
  }
}
