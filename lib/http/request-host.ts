// Which host a request names: by its header, and by its target where that is a whole URL (RFC 9112, section 3.2).

/** The machine's own names, as `Host` has them without a port. */
export const LOCAL_NAMES: ReadonlySet<string> = new Set(['127.0.0.1', 'localhost', '[::1]'])

const PORT = /:\d+$/
const SCHEME_AND_AUTHORITY = /^([a-z][a-z0-9+.-]*):\/\/([^/?#]*)/i

/** The host without its port. */
export function nameOfHost(host: string): string {
  return host.replace(PORT, '')
}

/**
 * Whether the target names another host than the header does. A proxy and this server would take such a request for two
 * different ones.
 */
export function namesAnotherHost(target: string, host: string): boolean {
  if (target.startsWith('/')) return false
  const [, scheme = '', authority] = SCHEME_AND_AUTHORITY.exec(target) ?? []
  if (authority === undefined || host === '') return false
  const port = scheme.toLowerCase() === 'https' ? ':443' : ':80'
  const bare = (text: string): string => (text.endsWith(port) ? text.slice(0, -port.length) : text)
  return bare(authority.toLowerCase()) !== bare(host.toLowerCase())
}

/** Why a request with these hosts is refused. */
export const HOST_REFUSALS = {
  several: 'the request has more than one header Host; send one',
  another: 'the request names one host in its target and another in its header Host',
} as const

/** All values of `Host`, in small letters. */
export function hostsOf(rawHeaders: readonly string[]): readonly string[] {
  const hosts: string[] = []
  for (let i = 0; i < rawHeaders.length; i += 2) {
    if (rawHeaders[i]?.toLowerCase() === 'host') hosts.push((rawHeaders[i + 1] ?? '').toLowerCase())
  }
  return hosts
}
