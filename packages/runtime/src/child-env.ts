import { tmpdir } from "node:os";
import { delimiter } from "node:path";

export interface ChildEnvParts {
  path: readonly string[];
  home: string;
  sandboxed: boolean;
  /** Set by Quayside for this kind of child; the owner's values may replace them. */
  defaults: Readonly<Record<string, string>>;
  /** Values of the deployment's owner, taken last. */
  owner: Readonly<Record<string, string>>;
  /** Set by Quayside and not replaceable: the app would not be found otherwise. */
  fixed: Readonly<Record<string, string>>;
}

/** Environment of a build or an app, made from nothing of Quayside's own. Throws RangeError for a name no system takes. */
export function childEnv(parts: ChildEnvParts): Record<string, string> {
  for (const [name, value] of Object.entries(parts.owner)) {
    if (name === "" || /[=\0]/.test(name) || value.includes("\0")) {
      throw new RangeError(`the environment variable ${JSON.stringify(name)} cannot be set`);
    }
  }
  return {
    ...networkSettings(),
    PATH: parts.path.join(delimiter),
    HOME: parts.home,
    LANG: "C.UTF-8",
    TMPDIR: parts.sandboxed ? "/tmp" : tmpdir(),
    npm_config_update_notifier: "false",
    ...parts.defaults,
    ...parts.owner,
    ...parts.fixed,
  };
}

/** How this machine reaches the network. Without these a build behind a proxy or a company's certificate cannot install. */
const NETWORK_SETTINGS = ["NODE_EXTRA_CA_CERTS", "SSL_CERT_FILE", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY"];

function networkSettings(): Record<string, string> {
  const names = [...NETWORK_SETTINGS, ...NETWORK_SETTINGS.map((name) => name.toLowerCase())];
  return Object.fromEntries(names.flatMap((name) => (process.env[name] ? [[name, process.env[name] ?? ""]] : [])));
}
