import type { PlatformConfig } from "@quayside/contracts";

/** Where an app answers. The proxy's port is left out when it is the scheme's own. */
export function appUrl(hostName: string, config: PlatformConfig): string {
  return config.APPS_PORT === 80 ? `http://${hostName}` : `http://${hostName}:${config.APPS_PORT}`;
}
