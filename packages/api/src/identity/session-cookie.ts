export const SESSION_COOKIE = "registry_session";

/** HttpOnly and SameSite=Lax; Secure when Quayside is reached over https. */
export function sessionCookie(token: string, expiresAt: Date, baseUrl: string): string {
  return `${SESSION_COOKIE}=${token}; Path=/; Expires=${expiresAt.toUTCString()}; ${attributes(baseUrl)}`;
}

export function clearSessionCookie(baseUrl: string): string {
  return `${SESSION_COOKIE}=; Path=/; Max-Age=0; ${attributes(baseUrl)}`;
}

function attributes(baseUrl: string): string {
  return `HttpOnly; SameSite=Lax${baseUrl.startsWith("https:") ? "; Secure" : ""}`;
}
