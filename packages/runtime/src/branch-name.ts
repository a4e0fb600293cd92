/**
 * Says why a branch name is refused, or null. The rules are those of `git check-ref-format`, and no leading '-', which a
 * command could take for an option.
 */
export function explainRefusedBranch(branch: string): string | null {
  if (branch === "") return "the branch name is empty";
  if (branch.length > 255) return "the branch name is longer than 255 characters";
  if (branch.startsWith("-")) return "a branch name cannot start with '-'";
  if (branch === "@") return "'@' is not a branch name";
  // biome-ignore lint/suspicious/noControlCharactersInRegex: git refuses exactly these.
  if (/[\u0000-\u0020\u007f~^:?*[\\]/.test(branch)) {
    return "a branch name cannot contain spaces, control characters or any of ~ ^ : ? * [ \\";
  }
  if (branch.includes("..") || branch.includes("@{")) return "a branch name cannot contain '..' or '@{'";
  if (branch.endsWith(".")) return "a branch name cannot end with '.'";
  for (const part of branch.split("/")) {
    if (part === "") return "a branch name cannot start or end with '/' or contain '//'";
    if (part.startsWith(".") || part.endsWith(".lock")) {
      return "no part of a branch name can start with '.' or end with '.lock'";
    }
  }
  return null;
}
