import { isIP } from "node:net";
import { isAbsolute, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";

const MAX_LENGTH = 2048;
const HOST = /^[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?$/;
const DEFAULT_PORTS: Readonly<Record<string, number>> = { "https:": 443, "http:": 80, "ssh:": 22, "git:": 9418 };

/** What an accepted address points to. */
export type RepoAddress =
  | { kind: "path"; path: string }
  | { kind: "remote"; protocol: "https:" | "http:" | "ssh:" | "git:"; host: string; port: number; url: URL | null };

/** Reads a repository address, or says why it is refused. Touches neither network nor files. */
export function parseRepoAddress(
  repo: string,
  localRoots: readonly string[] | null,
): RepoAddress | { refused: string } {
  const form = refuseForm(repo);
  if (form !== null) return { refused: form };
  if (isAbsolute(repo)) return localPath(repo, localRoots);
  if (/^file:\/\//i.test(repo)) return fileUrl(repo, localRoots);
  if (/^[a-z][a-z0-9+.-]*:\/\//i.test(repo)) return remoteUrl(repo);
  const scp = /^(?:[A-Za-z0-9_.-]+@)([^:@/]+):(?!\/\/)(.+)$/.exec(repo);
  const host = scp?.[1];
  if (host === undefined) return { refused: "use an https://, http://, ssh:// or git:// address, or user@host:path" };
  if (!HOST.test(host)) return { refused: "the host name of the repository is not valid" };
  return { kind: "remote", protocol: "ssh:", host, port: 22, url: null };
}

/** Says why a repository address is refused, or null when it may be fetched. */
export function explainRefusedRepo(repo: string, localRoots: readonly string[] | null): string | null {
  const address = parseRepoAddress(repo, localRoots);
  return "refused" in address ? address.refused : null;
}

/** True when `path` is `root` or lies below it. Both absolute. */
export function isInside(root: string, path: string): boolean {
  const way = relative(resolve(root), resolve(path));
  return way === "" || (way !== ".." && !way.startsWith("../") && !isAbsolute(way));
}

function refuseForm(repo: string): string | null {
  if (repo === "") return "the repository address is empty";
  if (repo.length > MAX_LENGTH) return `the repository address is longer than ${MAX_LENGTH} characters`;
  if (repo.startsWith("-")) return "a repository address cannot start with '-'";
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is refused.
  if (/[\u0000-\u001f\u007f-\u009f]|\s/.test(repo)) {
    return "a repository address cannot contain spaces or control characters";
  }
  // Git hands "name::address" to a helper program of that name.
  if (/^[A-Za-z0-9+.-]*::/.test(repo)) return "remote helpers ('name::address') are not allowed";
  return null;
}

function localPath(path: string, roots: readonly string[] | null): RepoAddress | { refused: string } {
  const normal = resolve(path);
  if (roots === null || roots.some((root) => isInside(root, normal))) return { kind: "path", path: normal };
  return { refused: "repositories on this machine must lie in one of the allowed folders" };
}

function fileUrl(repo: string, roots: readonly string[] | null): RepoAddress | { refused: string } {
  try {
    const path = fileURLToPath(repo);
    const form = refuseForm(path);
    return form === null ? localPath(path, roots) : { refused: form };
  } catch {
    return { refused: "a file:// address needs an absolute path and no host" };
  }
}

function remoteUrl(repo: string): RepoAddress | { refused: string } {
  const url = URL.parse(repo);
  if (url === null) return { refused: "the repository address is not a valid URL" };
  const protocol = url.protocol;
  if (protocol !== "https:" && protocol !== "http:" && protocol !== "ssh:" && protocol !== "git:") {
    return { refused: `'${protocol}//' addresses are not allowed; use https, http, ssh or git` };
  }
  const host = url.hostname.replace(/^\[|\]$/g, "");
  if (!HOST.test(host) && isIP(host) === 0) return { refused: "the host name of the repository is not valid" };
  if (url.username.startsWith("-")) return { refused: "the user name of the repository is not valid" };
  if (url.pathname === "" || url.pathname === "/") return { refused: "the repository address has no path" };
  const port = url.port === "" ? (DEFAULT_PORTS[protocol] ?? 0) : Number(url.port);
  return { kind: "remote", protocol, host, port, url };
}
