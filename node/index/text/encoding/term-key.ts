// One text for a field and a text of it: the key of a map. Two different pairs have different keys,
// also where a name has the separator in it.

const SEPARATOR = '\0'
const ESCAPE = '\u0001'

/** The key of the text in the field. */
export function termKey(field: string, text: string): string {
  return `${escaped(field)}${SEPARATOR}${text}`
}

/** The field of a key. */
export function fieldOfTermKey(key: string): string {
  const name = key.slice(0, key.indexOf(SEPARATOR))
  if (!name.includes(ESCAPE)) return name
  return name.replaceAll(`${ESCAPE}0`, SEPARATOR).replaceAll(`${ESCAPE}1`, ESCAPE)
}

function escaped(field: string): string {
  if (!field.includes(SEPARATOR) && !field.includes(ESCAPE)) return field
  return field.replaceAll(ESCAPE, `${ESCAPE}1`).replaceAll(SEPARATOR, `${ESCAPE}0`)
}
