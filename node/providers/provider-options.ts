import type { Env } from '../../lib/env.ts'
import { text } from '../../lib/options.ts'
import type { ConfigOf, OptionTable, OptionType } from '../../lib/options.ts'
import type { ProviderSurroundings } from './access/provider-access.ts'
import { NodeSecrets } from './access/secret-source.ts'
import { parseGrant } from './access/variable-grants.ts'
import type { VariableGrant } from './access/variable-grants.ts'

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
  providerVariables: {
    variable: 'QUARRY_PROVIDER_VARIABLES',
    flag: '<names>',
    value: variables(),
    help: 'variables to which configurations may refer by ${VARIABLE} or ${secret:name}: NAME, or NAME@host for that host alone, separated by commas; secret:name@host binds a secret',
  },
} as const satisfies OptionTable

/** What the options and the environment say about providers. */
export function providerSurroundings(
  config: ConfigOf<typeof PROVIDER_OPTIONS>,
  env: Env,
): ProviderSurroundings {
  const { secretsDir, providerHosts, providerVariables } = config
  return {
    env,
    secrets: new NodeSecrets(secretsDir === '' ? undefined : secretsDir),
    rules: { trustedHosts: providerHosts },
    variables: providerVariables,
  }
}

const HOST = /^([a-z0-9]([a-z0-9._-]*[a-z0-9])?|\[[0-9a-f:.]+\])(:\d{1,5})?$/i

function hosts(): OptionType<readonly string[]> {
  return {
    default: [],
    expected: 'a list of hosts such as models.example:8443, without http:',
    parse: (given) => listOf(given, (part) => (HOST.test(part) ? part : undefined)),
  }
}

function variables(): OptionType<readonly VariableGrant[]> {
  return {
    default: [],
    expected: 'a list of variables such as MODELS_KEY or MODELS_KEY@models.example:8443',
    parse: (given) => listOf(given, (part) => parseGrant(part, (host) => HOST.test(host))),
  }
}

/** Undefined if one part of the list is wrong. */
function listOf<Part>(
  given: string,
  parse: (part: string) => Part | undefined,
): readonly Part[] | undefined {
  const texts = given.split(',').map((part) => part.trim())
  const known = texts.filter((part) => part !== '')
  const parts = known.map(parse).filter((part) => part !== undefined)
  return parts.length === known.length ? parts : undefined
}
