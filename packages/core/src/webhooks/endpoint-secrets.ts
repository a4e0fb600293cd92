import { randomBytes } from "node:crypto";
import type { Context } from "../platform/context.ts";

const SECRET_BYTES = 32;

/** A signing secret in the form of Standard Webhooks: `whsec_` and 32 random bytes in base64. */
export function generateEndpointSecret(): string {
  return `whsec_${randomBytes(SECRET_BYTES).toString("base64")}`;
}

export function sealEndpointSecret(ctx: Pick<Context, "sealer">, endpointId: string, secret: string): Buffer {
  return ctx.sealer.seal(purposeOf(endpointId), secret);
}

export function openEndpointSecret(ctx: Pick<Context, "sealer">, endpointId: string, sealed: Buffer): string {
  return ctx.sealer.open(purposeOf(endpointId), sealed).toString();
}

function purposeOf(endpointId: string): string {
  return `webhook-secret:${endpointId}`;
}
