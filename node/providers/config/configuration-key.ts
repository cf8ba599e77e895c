/** Equal for configurations that mean the same. It holds references and no secrets, unless a key was written plainly. */
export function configurationKey(config: object): string {
  const members = Object.entries(config).filter(([, value]) => value !== undefined)
  return JSON.stringify(members.toSorted(([a], [b]) => (a < b ? -1 : 1)))
}
