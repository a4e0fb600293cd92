export { ConfigurationError, loadConfiguration } from "./configuration/load-configuration.ts";
export { startQuayside } from "./start-quayside.ts";
