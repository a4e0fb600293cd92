import { PlatformError } from "@quayside/contracts";

const TOLERANCE_SECONDS = 300;

/**
 * Checks the header `Stripe-Signature` of a body: HMAC-SHA256 of time and body, made at most 5 minutes before or after
 * `now`. Throws `invalid_signature` (401). The provider's library is loaded with the first event: it is large.
 */
export async function verifyPaymentSignature(
  request: { payload: string; signature: string | null },
  secret: string,
  now: Date,
): Promise<void> {
  if (request.signature === null) throw refused("This needs the header Stripe-Signature.");
  const { default: Stripe } = await import("stripe");
  const { signature } = Stripe.webhooks;
  if (!signature) throw new Error("The payment provider's library has no signature check.");
  try {
    signature.verifyHeader(request.payload, request.signature, secret, TOLERANCE_SECONDS, undefined, now.getTime());
  } catch (error) {
    throw refused("The value of Stripe-Signature is wrong for this body, or older than 5 minutes.", { cause: error });
  }
  // The library lets a time in the future pass, which would keep a stolen request usable for longer.
  const signedAt = Number(/(?:^|,)t=(\d{1,12})(?:,|$)/.exec(request.signature)?.[1]);
  if (!(signedAt - now.getTime() / 1_000 <= TOLERANCE_SECONDS)) {
    throw refused("The time in Stripe-Signature is more than 5 minutes ahead.");
  }
}

function refused(message: string, options?: ErrorOptions): PlatformError {
  return new PlatformError("invalid_signature", message, {}, options);
}
