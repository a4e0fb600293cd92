import { generateKeyPairSync, randomBytes, sign } from "node:crypto";

const OID = {
  ecdsaWithSha256: "06082a8648ce3d040302",
  commonName: "0603550403",
  subjectAltName: "0603551d11",
} as const;

const DAY_MS = 24 * 60 * 60 * 1000;
const SAN_DNS_NAME = 0x82;
const SAN_IP_ADDRESS = 0x87;

/**
 * A certificate for one DNS name or IPv4 address, signed by its own key (RFC 5280, section 4.1), so that the tests need
 * no program to make one. Valid from yesterday, or until yesterday.
 */
export function selfSignedCertificate(subject: string, { expired = false } = {}): { key: string; cert: string } {
  const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "prime256v1" });
  const algorithm = der(0x30, hex(OID.ecdsaWithSha256));
  const name = der(0x30, der(0x31, der(0x30, hex(OID.commonName), der(0x0c, Buffer.from(subject)))));
  const now = Date.now();
  const [from, until] = expired ? [now - 2 * DAY_MS, now - DAY_MS] : [now - DAY_MS, now + DAY_MS];
  const isAddress = /^[\d.]+$/.test(subject);
  const alternative = isAddress
    ? der(SAN_IP_ADDRESS, Buffer.from(subject.split(".").map(Number)))
    : der(SAN_DNS_NAME, Buffer.from(subject));
  const extension = der(0x30, hex(OID.subjectAltName), der(0x04, der(0x30, alternative)));
  const toSign = der(
    0x30,
    der(0xa0, der(0x02, Buffer.of(2))),
    der(0x02, Buffer.concat([Buffer.of(1), randomBytes(8)])),
    algorithm,
    name,
    der(0x30, time(from), time(until)),
    name,
    publicKey.export({ type: "spki", format: "der" }),
    der(0xa3, der(0x30, extension)),
  );
  const signature = der(0x03, Buffer.of(0), sign("sha256", toSign, privateKey));
  const certificate = der(0x30, toSign, algorithm, signature).toString("base64");
  return {
    key: privateKey.export({ type: "pkcs8", format: "pem" }).toString(),
    cert: `-----BEGIN CERTIFICATE-----\n${certificate.replace(/.{64}/g, "$&\n")}\n-----END CERTIFICATE-----\n`,
  };
}

function hex(text: string): Buffer {
  return Buffer.from(text, "hex");
}

/** Tag, length and contents (ITU-T X.690, section 8.1), of up to 64 KiB. */
function der(tag: number, ...contents: Buffer[]): Buffer {
  const content = Buffer.concat(contents);
  const { length } = content;
  const size = length < 0x80 ? [length] : length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 0xff];
  return Buffer.concat([Buffer.from([tag, ...size]), content]);
}

function time(atMs: number): Buffer {
  const text = new Date(atMs).toISOString().replace(/[-:T]|\.\d+/g, "");
  return der(0x18, Buffer.from(text));
}
