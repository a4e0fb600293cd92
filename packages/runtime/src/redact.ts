/** Hides the user part of http addresses and the password of any other, wherever they stand in a text. */
export function redactCredentials(text: string): string {
  return text
    .replace(/(https?:\/\/)[^/\s'"]*@/gi, "$1***@")
    .replace(/([a-z][a-z0-9+.-]*:\/\/[^/\s:@'"]+):[^/\s'"]*@/gi, "$1:***@");
}
