import type { Env } from '../../lib/env.ts'
import { flag, text } from '../../lib/options.ts'
import type { ConfigOf, OptionTable, OptionType } from '../../lib/options.ts'
import type { ProviderSurroundings } from './access/provider-access.ts'
import { NodeSecrets } from './access/secret-source.ts'

/** The options of every node that asks providers. */
export const PROVIDER_OPTIONS = {
  secretsDir: {
    variable: 'QUARRY_SECRETS_DIR',
    flag: '<dir>',
    value: text(''),
    help: 'a directory with one file for each secret, to which ${secret:name} in configurations refers',
  },
  providerHosts: {
    variable: 'QUARRY_PROVIDER_HOSTS',
    flag: '<hosts>',
    value: hosts(),
    help: 'hosts of models that may have private addresses and get secrets of the node: host or host:port, separated by commas',
  },
  publicProvidersOnly: {
    variable: 'QUARRY_PUBLIC_PROVIDERS_ONLY',
    flag: '',
    value: flag(),
    help: 'URLs of inference servers in configurations need public addresses, or a host of --provider-hosts',
  },
} as const satisfies OptionTable

/** What the options and the environment say about providers. */
export function providerSurroundings(
  config: ConfigOf<typeof PROVIDER_OPTIONS>,
  env: Env,
): ProviderSurroundings {
  const { secretsDir, providerHosts, publicProvidersOnly } = config
  return {
    env,
    secrets: new NodeSecrets(secretsDir === '' ? undefined : secretsDir, env),
    rules: { trustedHosts: providerHosts, allowsPrivateLocal: !publicProvidersOnly },
  }
}

const HOST = /^([a-z0-9]([a-z0-9._-]*[a-z0-9])?|\[[0-9a-f:.]+\])(:\d{1,5})?$/i

function hosts(): OptionType<readonly string[]> {
  return {
    default: [],
    expected: 'a list of hosts such as models.example:8443, without http:',
    parse: (given) => {
      const parts = given.split(',').map((part) => part.trim())
      const known = parts.filter((part) => part !== '')
      return known.every((part) => HOST.test(part)) ? known : undefined
    },
  }
}
