import { receivePaymentEventInput, receivePaymentEventOutput } from "@quayside/contracts";
import { receivePaymentEvent } from "@quayside/core";
import { procedure, router } from "../platform/procedure.ts";

export const paymentsRouter = router({
  receive: procedure
    .meta({
      openapi: {
        method: "POST",
        path: "/v1/crm/internal/payments",
        tags: ["Plans and usage"],
        protect: false,
        summary: "Take an event of the payment provider",
        description:
          "Stripe's wire format: the event as body, signed by the header `Stripe-Signature`. Events may come in any order and more than once.",
        errorResponses: {
          400: "Not a payment event",
          401: "Signature missing, wrong or older than 5 minutes",
          503: "The webhook secret is not set",
        },
      },
      rest: {
        auth: "none",
        errors: "problem",
        kind: "json",
        status: 200,
        raw: { signatureHeader: "stripe-signature" },
      },
    })
    .input(receivePaymentEventInput)
    .output(receivePaymentEventOutput)
    .mutation(({ ctx, input }) => receivePaymentEvent(ctx, input)),
});
