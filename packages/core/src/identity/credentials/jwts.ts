import { jwtVerify, SignJWT } from "jose";

export const JWT_LIFETIME_MS = 30 * 24 * 3_600_000;
const ALGORITHM = "HS256";
const AUDIENCE = "quayside";

export interface JwtClaims {
  jti: string;
  userId: number;
  organizationId: string;
  permissions: readonly string[];
  scopes: readonly string[];
  issuedAt: Date;
  expiresAt: Date;
}

/** A JWT with `org_id`, `user_id`, `permissions`, `scopes` and `jti` (RFC 7519), signed with HS256. */
export function signJwt(claims: JwtClaims, issuer: string, secret: string): Promise<string> {
  return new SignJWT({
    org_id: claims.organizationId,
    user_id: claims.userId,
    permissions: claims.permissions,
    scopes: claims.scopes,
  })
    .setProtectedHeader({ alg: ALGORITHM, typ: "JWT" })
    .setJti(claims.jti)
    .setSubject(String(claims.userId))
    .setIssuer(issuer)
    .setAudience(AUDIENCE)
    .setIssuedAt(claims.issuedAt)
    .setExpirationTime(claims.expiresAt)
    .sign(Buffer.from(secret));
}

/** The id of a JWT that we signed and that has not expired, or null. Only HS256 is accepted, whatever the token says. */
export async function readJwt(token: string, issuer: string, secret: string, now: Date): Promise<string | null> {
  try {
    const { payload } = await jwtVerify(token, Buffer.from(secret), {
      algorithms: [ALGORITHM],
      issuer,
      audience: AUDIENCE,
      currentDate: now,
      requiredClaims: ["jti", "exp"],
    });
    return payload.jti ?? null;
  } catch {
    return null;
  }
}
