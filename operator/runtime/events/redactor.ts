/** Takes values out of texts that must not show them. Values shorter than this would tear words apart. */
const SECRET_LENGTH_MIN = 4

/** Answers the text with each of the secret values replaced, the longest first. */
export function redacted(text: string, secrets: Iterable<string>): string {
  const values = [...new Set(secrets)].filter(({ length }) => length >= SECRET_LENGTH_MIN)
  return values
    .toSorted((a, b) => b.length - a.length)
    .reduce((rest, value) => rest.replaceAll(value, '[redacted]'), text)
}
