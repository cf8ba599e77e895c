import { systemClock } from '../../../../lib/clock.ts'
import type { Clock } from '../../../../lib/clock.ts'
import type { Env } from '../../../../lib/env.ts'
import { NodeSecrets } from '../../../../node/providers/access/secret-source.ts'
import type { UrlRules } from '../../../../node/providers/access/url-rules.ts'
import { Providers } from '../../../../node/providers/providers.ts'
import { TIMEOUTS_DEFAULT } from '../../../../node/providers/wire/wire-parts.ts'

/** What differs from a node without any settings. */
export interface ProviderChanges {
  readonly env?: Env
  readonly secretsDir?: string
  readonly rules?: Partial<UrlRules>
  readonly clock?: Clock
  readonly timeoutMs?: number
}

/** The token of the identity that tests have. */
export const TOKEN = 'ya29.token-of-the-node'

/** Providers of which those on this machine may be asked, with any key. */
export function openProviders({
  env = {},
  secretsDir,
  rules = {},
  clock = systemClock,
  timeoutMs,
}: ProviderChanges = {}): Providers {
  return new Providers({
    clock,
    env,
    secrets: new NodeSecrets(secretsDir),
    variables: Object.keys(env).map((name) => ({ name, host: undefined })),
    rules: { trustedHosts: ['127.0.0.1'], ...rules },
    isPublic: (address) => !/^(127|10|169\.254|192\.168)\.|^(::1|fe80)/.test(address),
    identity: { token: async () => TOKEN, projectId: async () => 'tides' },
    ...(timeoutMs === undefined
      ? {}
      : { timeouts: { ...TIMEOUTS_DEFAULT, embedMs: timeoutMs, generateMs: timeoutMs } }),
  })
}
