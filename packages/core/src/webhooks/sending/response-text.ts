// All control characters but tab and line feed, and those that reorder or break lines where the text is shown.
const HARMFUL = /(?![\t\n])[\p{Cc}\p{Bidi_Control}\u2028\u2029]/gu;
const REPLACEMENT = "\uFFFD";

/** Text of another's making that can be stored and shown: control characters become U+FFFD, line ends `\n`. */
export function harmlessText(text: string): string {
  return text.replaceAll("\r\n", "\n").replace(HARMFUL, REPLACEMENT);
}

/**
 * The beginning of a response body as text. Whatever is not UTF-8, compressed bodies for one, becomes U+FFFD, so the
 * text has at most as many characters as the body bytes. A character that the cut went through is left out.
 */
export function responseText(body: Buffer, truncated: boolean): string {
  return harmlessText(new TextDecoder().decode(body, { stream: truncated }));
}
