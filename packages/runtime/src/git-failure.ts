import { redactCredentials } from "./redact.ts";

interface Explanation {
  pattern: RegExp;
  say(repo: string, branch: string): string;
}

const EXPLANATIONS: readonly Explanation[] = [
  {
    pattern: /couldn't find remote ref|remote branch .* not found/i,
    say: (repo, branch) => `branch ${branch} does not exist in ${repo}`,
  },
  {
    pattern:
      /could not read (username|password)|authentication failed|permission denied|terminal prompts disabled|\b40[13]\b/i,
    say: (repo) =>
      `${repo} asks for credentials that were not given or not accepted (a missing repository can look the same)`,
  },
  {
    pattern: /redirect|\b30[12378]\b/i,
    say: (repo) => `${repo} answers with a redirect; use the address it leads to (often the same with .git at its end)`,
  },
  {
    pattern: /not found|does not exist|does not appear to be a git repository|not a git repository|no such file/i,
    say: (repo) => `${repo} was not found, or it is no git repository`,
  },
  {
    pattern:
      /could not resolve host|connection refused|timed out|unable to connect|failed to connect|unreachable|couldn't connect/i,
    say: (repo) => `the host of ${repo} could not be reached`,
  },
  {
    pattern: /host key verification failed/i,
    say: (repo) => `the host key of ${repo} is not the one this machine knows`,
  },
];

/** Turns git's complaints about a fetch into one sentence for the deployment's owner. `repo` is shown as it is. */
export function explainGitFailure(stderr: readonly string[], repo: string, branch: string): string {
  const text = stderr.join("\n");
  const known = EXPLANATIONS.find(({ pattern }) => pattern.test(text));
  if (known !== undefined) return known.say(repo, branch);
  const last = stderr.findLast((line) => line.trim() !== "") ?? "no reason given";
  return `${repo} could not be fetched: ${redactCredentials(last).slice(0, 300)}`;
}
