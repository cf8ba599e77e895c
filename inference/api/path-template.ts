// Paths of requests against the templates of the contract, such as `/v1/models/{model}`.

const PARAMETER = /^\{(?<name>\w+)\}$/

/** The parameters by their names, decoded; undefined for another path, or one that cannot be decoded. */
export function matchPath(
  template: string,
  path: string,
): Readonly<Record<string, string>> | undefined {
  if (!template.includes('{')) return template === path ? {} : undefined
  const [wanted, given] = [template.split('/'), path.split('/')]
  if (wanted.length !== given.length) return undefined
  const parameters: Record<string, string> = {}
  for (const [index, part] of wanted.entries()) {
    const text = given[index] ?? ''
    const name = PARAMETER.exec(part)?.groups?.['name']
    if (name === undefined && part !== text) return undefined
    if (name === undefined) continue
    const value = decoded(text)
    if (value === undefined) return undefined
    parameters[name] = value
  }
  return parameters
}

function decoded(text: string): string | undefined {
  try {
    return text === '' ? undefined : decodeURIComponent(text)
  } catch {
    return undefined
  }
}
