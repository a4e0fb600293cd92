/** Tells the process that owns this machine's releases that routes or releases changed. */
export const LOCAL_HOST_CHANNEL = "hosts:local";

/** Status updates of a deployment. */
export const deploymentChannel = (deploymentId: string) => `deployments:${deploymentId}`;

/** Captured lines of a deployment. */
export const logChannel = (deploymentId: string) => `deployment-logs:${deploymentId}`;
