// The options of `quarry node`, one node of a cluster: those of a whole store in one process, and what a
// node needs to find etcd and the other nodes.

import type { Env } from '../lib/env.ts'
import { serverUrls } from '../lib/http/origin-options.ts'
import {
  ConfigurationError,
  flagName,
  integer,
  port,
  readOptions,
  required,
  text,
} from '../lib/options.ts'
import type { ConfigOf, Flags, OptionTable, OptionType } from '../lib/options.ts'
import { parseConfigFile } from '../lib/process/config-file.ts'
import type { ConfigFile } from '../lib/process/config-file.ts'
import { SWARM_OPTIONS } from './config.ts'
import { isPeerName } from './peer/channels/peer-names.ts'
import { isClusterName } from './coordination/etcd/cluster-keys.ts'

/** As node/peer asks for. */
export const SECRET_BYTES_MIN = 16
/** The old secret, and the new one; two changes that follow each other have three. */
const ACCEPTED_SECRETS_MAX = 4
const SECOND_MS = 1000
const RELOAD_INTERVAL_MS = 60_000
const DAY_MS = 86_400_000
const NODE_NAME = /^[\w.-]{1,63}$/
const ZONE = /^[\w.-]{1,63}$/

export const NODE_OPTIONS = {
  cluster: {
    variable: 'QUARRY_CLUSTER',
    flag: '<name>',
    value: required(clusterName()),
    help: 'the cluster that the node belongs to; the first node creates it',
  },
  etcd: {
    variable: 'QUARRY_ETCD_URLS',
    flag: '<urls>',
    value: required(endpoints()),
    help: 'members of etcd, separated by commas',
  },
  ...SWARM_OPTIONS,
  advertiseUrl: {
    variable: 'QUARRY_ADVERTISE_URL',
    flag: '<url>',
    value: optionalUrl(),
    defaultText: 'the address and port of the API',
    help: 'where clients reach this node; other nodes reach it at the same host and the port for peers',
  },
  peerHost: {
    variable: 'QUARRY_PEER_HOST',
    flag: '<address>',
    value: text('127.0.0.1'),
    help: 'address to listen on for other nodes',
  },
  peerPort: {
    variable: 'QUARRY_PEER_PORT',
    flag: '<port>',
    value: port(7400),
    help: 'port for other nodes; 0 takes a free one',
  },
  checkIntervalMs: {
    variable: 'QUARRY_CHECK_INTERVAL_MS',
    value: integer({ default: DAY_MS, min: 0, max: 30 * DAY_MS }),
    help: 'how often each replica is checked for damage and compared with its leader; 0: never',
  },
  reloadIntervalMs: {
    variable: 'QUARRY_RELOAD_INTERVAL_MS',
    value: integer({ default: RELOAD_INTERVAL_MS, min: SECOND_MS, max: DAY_MS, orZero: true }),
    help: 'how often files of certificates, keys, passwords and secrets are looked at, to load changed ones again; 0: only when asked',
  },
  zone: {
    variable: 'QUARRY_ZONE',
    flag: '<zone>',
    value: zone(),
    help: 'nodes of a zone may fail together: replicas of a shard go to several zones',
  },
  nodeName: {
    variable: 'QUARRY_NODE_NAME',
    flag: '<name>',
    value: nodeName(),
    help: 'the name of the node, such as that of its machine or pod; shown beside its id, and accepted in its place',
  },
  clusterSecretFile: {
    variable: 'QUARRY_CLUSTER_SECRET_FILE',
    flag: '<file>',
    value: optionalText(),
    help: `a secret of at least ${SECRET_BYTES_MIN} bytes, the same for all nodes, by which they prove themselves`,
  },
  acceptedSecretFiles: {
    variable: 'QUARRY_ACCEPTED_SECRET_FILES',
    flag: '<files>',
    value: secretFiles(),
    help: 'further secrets, each in a file, by which other nodes may prove themselves while the secret is changed; a file that is empty or missing has none',
  },
  peerTlsCa: {
    variable: 'QUARRY_PEER_TLS_CA',
    flag: '<file>',
    value: optionalText(),
    help: 'authority (PEM) of all nodes: with it, connections between nodes are private',
  },
  peerNames: {
    variable: 'QUARRY_PEER_NAMES',
    flag: '<patterns>',
    value: peerNames(),
    help: 'names in the certificates of nodes, and of nobody else, such as *.nodes.example: a certificate of the authority without one is refused',
  },
  peerTlsCert: {
    variable: 'QUARRY_PEER_TLS_CERT',
    flag: '<file>',
    value: optionalText(),
    help: 'certificate (PEM) of this node for other nodes',
  },
  peerTlsKey: {
    variable: 'QUARRY_PEER_TLS_KEY',
    flag: '<file>',
    value: optionalText(),
    help: 'key (PEM) of that certificate',
  },
  etcdUser: {
    variable: 'QUARRY_ETCD_USER',
    flag: '<name>',
    value: optionalText(),
    help: 'user of etcd, if it asks for one',
  },
  etcdPasswordFile: {
    variable: 'QUARRY_ETCD_PASSWORD_FILE',
    flag: '<file>',
    value: optionalText(),
    help: "the user's password",
  },
  etcdCa: {
    variable: 'QUARRY_ETCD_CA',
    flag: '<file>',
    value: optionalText(),
    help: "authority (PEM) of etcd's certificates, if it is not one that Node trusts",
  },
  etcdCert: {
    variable: 'QUARRY_ETCD_CERT',
    flag: '<file>',
    value: optionalText(),
    help: 'certificate (PEM) of this node for etcd, if etcd asks for one',
  },
  etcdKey: {
    variable: 'QUARRY_ETCD_KEY',
    flag: '<file>',
    value: optionalText(),
    help: 'key (PEM) of that certificate',
  },
} as const satisfies OptionTable

export type ClusterNodeConfig = ConfigOf<typeof NODE_OPTIONS>

/**
 * Flags win over the environment, which wins over the file. Throws a ConfigurationError that names every
 * wrong value, or every contradiction among values that are right by themselves.
 */
export function parseClusterNodeConfig(
  env: Env,
  flags: Flags = {},
  file?: ConfigFile,
): ClusterNodeConfig {
  const settings = file === undefined ? undefined : parseConfigFile(file, NODE_OPTIONS)
  const config = readOptions(NODE_OPTIONS, { env, flags, file: settings })
  const problems = contradictionsOf(config)
  if (problems.length > 0) throw new ConfigurationError(problems)
  return config
}

/** As `parseClusterNodeConfig`, for a command that speaks to etcd and to no node. */
export function parseEtcdConfig(env: Env, flags: Flags = {}): ClusterNodeConfig {
  const config = readOptions(NODE_OPTIONS, { env, flags, file: undefined })
  const problems = etcdContradictionsOf(config)
  if (problems.length > 0) throw new ConfigurationError(problems)
  return config
}

/** The options whose files belong to others. */
export type FileOption = 'peerTlsCa' | 'peerTlsCert' | 'peerTlsKey' | 'etcdCert' | 'etcdKey'

function etcdContradictionsOf(config: ClusterNodeConfig): readonly string[] {
  const { etcd, etcdUser, etcdPasswordFile, etcdCa, etcdCert } = config
  const isPlainEtcd = etcd.some((url) => url.startsWith('http:'))
  return [
    ...together(config, ['etcdCert', 'etcdKey']),
    ...((etcdUser === '') === (etcdPasswordFile === '')
      ? []
      : ['--etcd-user and --etcd-password-file belong together: give both or neither']),
    ...(isPlainEtcd && (etcdCa !== '' || etcdCert !== '')
      ? ['--etcd has http: addresses, for which certificates have no use; give https: addresses']
      : []),
  ]
}

function contradictionsOf(config: ClusterNodeConfig): readonly string[] {
  const { clusterSecretFile } = config
  return [
    ...together(config, ['peerTlsCa', 'peerTlsCert', 'peerTlsKey']),
    ...etcdContradictionsOf(config),
    ...(clusterSecretFile === ''
      ? [
          'nodes prove to each other that they belong to the cluster: give --cluster-secret-file, ' +
            'also beside certificates, which an authority signs for others too',
        ]
      : []),
    ...((config.peerTlsCa === '') === (config.peerNames.length === 0)
      ? []
      : ['--peer-tls-ca and --peer-names belong together: give both or neither']),
    ...unreachable(config),
  ]
}

function together(config: ClusterNodeConfig, names: readonly FileOption[]): readonly string[] {
  const missing = names.filter((name) => config[name] === '')
  if (missing.length === 0 || missing.length === names.length) return []
  return [`${missing.map(flagName).join(' and ')} missing beside the others of its kind`]
}

const EVERY: ReadonlySet<string> = new Set(['0.0.0.0', '::'])

/** Nobody can dial an address that means "all addresses". */
function unreachable({ host, peerHost, advertiseUrl }: ClusterNodeConfig): readonly string[] {
  if (advertiseUrl !== '' || ![host, peerHost].some((one) => EVERY.has(one))) return []
  return ['--advertise-url is needed where a node listens on all addresses: others must find it']
}

/** Where others find the node, once it listens: `host:port`. */
export interface NodeAddresses {
  readonly api: string
  readonly peer: string
}

/** The addresses that the node registers. `ports` are those that it listens on. */
export function advertisedAddresses(
  { host, peerHost, advertiseUrl }: ClusterNodeConfig,
  ports: { readonly api: number; readonly peer: number },
): NodeAddresses {
  if (advertiseUrl === '') {
    return { api: joined(host, ports.api), peer: joined(peerHost, ports.peer) }
  }
  const url = new URL(advertiseUrl)
  const fallback = url.protocol === 'https:' ? 443 : 80
  return {
    api: `${url.hostname}:${url.port === '' ? fallback : url.port}`,
    peer: `${url.hostname}:${ports.peer}`,
  }
}

function joined(host: string, at: number): string {
  return host.includes(':') ? `[${host}]:${at}` : `${host}:${at}`
}

function clusterName(): OptionType<string> {
  return {
    default: '',
    expected: 'a name of 1 to 63 letters, digits, dots, dashes and underscores',
    parse: (given) => (isClusterName(given) ? given : undefined),
  }
}

function endpoints(): OptionType<readonly string[]> {
  const urls = serverUrls()
  return {
    default: [],
    expected: 'a list of URLs such as http://10.0.0.1:2379',
    parse: (given) => {
      const parsed = urls.parse(given)
      return parsed?.length === 0 ? undefined : parsed
    },
  }
}

function peerNames(): OptionType<readonly string[]> {
  return {
    default: [],
    expected: 'a list of names such as *.nodes.example, where * is a part of a name',
    parse: (given) => {
      const names = given.split(',').map((name) => name.trim())
      return names.every(isPeerName) ? names : undefined
    },
  }
}

function secretFiles(): OptionType<readonly string[]> {
  return {
    default: [],
    expected: `at most ${ACCEPTED_SECRETS_MAX} paths of files, separated by commas`,
    parse: (given) => {
      const paths = given.split(',').map((path) => path.trim())
      const isList = paths.every((path) => path !== '') && paths.length <= ACCEPTED_SECRETS_MAX
      return isList ? paths : undefined
    },
  }
}

function optionalUrl(): OptionType<string> {
  const urls = serverUrls()
  return {
    default: '',
    expected: 'a URL such as http://10.0.0.11:8080, without a path',
    parse: (given) => (urls.parse(given)?.length === 1 ? given : undefined),
  }
}

function nodeName(): OptionType<string> {
  return {
    default: '',
    expected: 'a name of 1 to 63 letters, digits, dots, dashes and underscores',
    parse: (given) => (NODE_NAME.test(given) ? given : undefined),
  }
}

function zone(): OptionType<string> {
  return {
    default: '',
    expected: 'a name of 1 to 63 letters, digits, dots, dashes and underscores',
    // Kubernetes gives an empty variable for a label that a pod does not have.
    parse: (given) => (given === '' || ZONE.test(given) ? given : undefined),
  }
}

/** A text that is empty by default, for "none". */
function optionalText(): OptionType<string> {
  return text('')
}
