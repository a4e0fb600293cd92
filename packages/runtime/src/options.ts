/** How the runtime of one machine is set up. */
export interface LocalRuntimeOptions {
  /** Folder that receives mirrors, releases, caches and logs. */
  dataDir: string;
  /** Address the proxy listens on. */
  proxyHost: string;
  /** Port the proxy listens on; 0 takes any free one. */
  proxyPort: number;
  /** Folders whose repositories may be deployed by path. Null: any path (development). */
  gitLocalRoots: string[] | null;
  /** Lets repositories live on loopback and private networks. */
  allowPrivateNetworks: boolean;
  /** Limit of one install or build command, in milliseconds. Default 600000. */
  buildTimeoutMs?: number | undefined;
  /** Pace of the health gate, in milliseconds. Defaults: every 100, 3 passes, bake 300. */
  health?: Partial<HealthPace> | undefined;
  /** Receives what an operator should know and no caller can be told. */
  onWarning(message: string): void;
}

export interface HealthPace {
  intervalMs: number;
  /** Consecutive passes before the bake. */
  passes: number;
  /** How long the app must stay alive after them. */
  bakeMs: number;
}

export const DEFAULT_BUILD_TIMEOUT_MS = 600_000;
export const DEFAULT_HEALTH_PACE: HealthPace = { intervalMs: 100, passes: 3, bakeMs: 300 };
