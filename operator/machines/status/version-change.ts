// Which version may follow which: the same or the next minor one, and back within a minor one.

interface Version {
  readonly major: number
  readonly minor: number
  readonly patch: number
}

/** Why the nodes may not be given the wanted version; `undefined` if they may, or if a version cannot be read. */
export function versionProblem(
  running: string | undefined,
  wanted: string,
  { allowsDowngrade }: { readonly allowsDowngrade: boolean },
): string | undefined {
  const from = parseVersion(running ?? '')
  const to = parseVersion(wanted)
  if (from === undefined || to === undefined || from.major !== to.major) {
    return from === undefined || to === undefined ? undefined : `from ${running} to ${wanted}`
  }
  const minors = to.minor - from.minor
  if (minors === 0 || minors === 1) return undefined
  if (minors < 0 && allowsDowngrade) return undefined
  return minors < 0
    ? `${running} runs, and ${wanted} is older: quarry.dev/allow-downgrade allows it`
    : `${running} runs, and ${wanted} is more than one minor version ahead`
}

function parseVersion(text: string): Version | undefined {
  const groups = /^v?(?<major>\d+)\.(?<minor>\d+)\.(?<patch>\d+)/.exec(text)?.groups
  if (groups === undefined) return undefined
  const { major, minor, patch } = groups
  return { major: Number(major), minor: Number(minor), patch: Number(patch) }
}
