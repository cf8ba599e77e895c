// Where the containers of a node's pod find what they need.

export const PATHS = {
  dataVolume: '/var/lib/quarry',
  /** Below the root of the volume, where some file systems have a directory lost+found. */
  data: '/var/lib/quarry/data',
  config: '/etc/quarry/config',
  clusterSecret: '/etc/quarry/cluster-secret',
  etcd: '/etc/quarry/etcd',
  etcdCredentials: '/etc/quarry/etcd-credentials',
  secrets: '/etc/quarry/secrets',
  files: '/etc/quarry/files',
  temporary: '/tmp',
  models: '/var/lib/quarry-models',
} as const

/** The names of volumes; the first two are those of claims, too. */
export const VOLUMES = {
  data: 'data',
  models: 'models',
  config: 'config',
  clusterSecret: 'cluster-secret',
  etcd: 'etcd',
  etcdCredentials: 'etcd-credentials',
  secrets: 'secrets',
  files: 'files',
  temporary: 'tmp',
  inferenceTemporary: 'inference-tmp',
} as const

/** The keys of the Secret with the certificates of an external etcd, and the files of every node. */
export const ETCD_FILES = {
  authority: 'ca.crt',
  certificate: 'tls.crt',
  key: 'tls.key',
} as const

/** The keys of the Secret with the credentials of an external etcd. */
export const ETCD_CREDENTIALS = { user: 'username', password: 'password' } as const
