export { createQuayside, type DeploymentUpdate, type Quayside, type QuaysideOptions } from "./client.ts";
export {
  AuthenticationError,
  ConflictError,
  NetworkError,
  NotFoundError,
  PermissionError,
  QuaysideError,
  RateLimitError,
  ServerError,
  ValidationError,
} from "./errors.ts";
export {
  type VerifiedWebhook,
  type VerifyWebhookOptions,
  verifyWebhook,
  type WebhookHeaders,
  WebhookVerificationError,
} from "./verify-webhook.ts";
