// From a checkout to the layers of an image, the one that changes least at the bottom:
//
//   base      files of Debian's packages
//   Node      the program
//   packages  what package-lock.json brings for this platform, less what left-out.ts names
//   sources   the product, the command `quarry`, what it was made of

import { readFileSync } from 'node:fs'
import path from 'node:path'
import { completeEntries, QUARRY_USER, sizeOf, type ImageEntry } from './files/entries.ts'
import type { Image, ImageLayer } from './oci/layout.ts'
import { buildBase, type Base, type BasePlaces } from './parts/base.ts'
import type { LeftOutFiles } from './parts/left-out.ts'
import { wantedPackages, type Lockfile } from './parts/lockfile.ts'
import { filesOfNode } from './parts/node.ts'
import { filesOfPackages } from './parts/packages.ts'
import { buildSbom } from './parts/sbom.ts'
import { COMMAND, DATA_DIRECTORY, filesOfSources } from './parts/sources.ts'
import type { Platform, Target } from './parts/platform.ts'

const MEGABYTE = 1_000_000
/** What an image may take unpacked. Its pull is what a pod waits for on a new machine. */
export const IMAGE_BYTES_MAX: Readonly<Record<Target, number>> = {
  node: 260 * MEGABYTE,
  inference: 350 * MEGABYTE,
}

const IMAGE_NAMES: Readonly<Record<Target, string>> = {
  node: 'quarry',
  inference: 'quarry-inference',
}
const NO_BASE: Base = { entries: [], packages: [] }

export interface ImageRequest {
  /** The checkout. */
  readonly root: string
  readonly target: Target
  readonly platform: Platform
  readonly commit: string | undefined
  /** Where the sources are published, if they are. */
  readonly source?: string | undefined
  /** `[REGISTRY/]NAME:TAG`; the name of the target and the version, if nobody says another one. */
  readonly name?: string | undefined
  /** Undefined: the image has no base layer, because another program puts one below it. */
  readonly base: BasePlaces | undefined
}

export interface PlannedImage {
  readonly image: Image
  /** Rules of the list that left nothing out. */
  readonly idle: readonly LeftOutFiles[]
}

interface Manifest {
  readonly version: string
  readonly license: string
}

export async function planImage(request: ImageRequest): Promise<PlannedImage> {
  const { root, target, platform, commit, base } = request
  const lockfile: Lockfile = JSON.parse(readText(root, 'package-lock.json'))
  const { version, license }: Manifest = JSON.parse(readText(root, 'package.json'))
  const debian = base === undefined ? NO_BASE : await buildBase(base, platform)
  const packages = wantedPackages(lockfile, { target, platform })
  const { entries, idle } = filesOfPackages(root, packages, platform)
  const locked = lockfile.packages[`node_modules/${platform.node}`]
  const node = { version: locked?.version ?? '', integrity: locked?.integrity }
  const { architecture } = platform
  const bill = { version, license, packages, node, debian: debian.packages, architecture }
  const sources = filesOfSources(root, { target, commit, sbom: buildSbom(bill) })
  const layers = [
    ...(base === undefined ? [] : [layer('base: packages of Debian', debian.entries)]),
    layer('Node', filesOfNode(root, platform)),
    layer('packages', entries),
    layer('sources', sources),
  ]
  const config = configOf({ version, license, commit, source: request.source })
  return {
    image: {
      reference: request.name ?? `${IMAGE_NAMES[target]}:${version}`,
      architecture,
      config,
      layers,
    },
    idle,
  }
}

export function bytesOf({ layers }: Image): number {
  return layers.reduce((sum, { entries }) => sum + sizeOf(entries), 0)
}

function layer(comment: string, entries: readonly ImageEntry[]): ImageLayer {
  return { comment, entries: completeEntries(entries) }
}

function configOf(of: Manifest & Pick<ImageRequest, 'commit' | 'source'>): Image['config'] {
  return {
    User: `${QUARRY_USER}:${QUARRY_USER}`,
    // Only /tmp can be written when the root cannot: what Node has compiled is kept there for its threads.
    Env: [
      'PATH=/usr/local/bin:/usr/bin',
      'NODE_ENV=production',
      'XDG_CACHE_HOME=/tmp',
      'SSL_CERT_FILE=/etc/ssl/certs/ca-certificates.crt',
    ],
    // Node as the first process would ignore its own SIGKILL and leave orphans unburied: docs/decisions/0178.
    Entrypoint: ['/usr/bin/tini', '--', `/${COMMAND}`],
    WorkingDir: `/${DATA_DIRECTORY}`,
    StopSignal: 'SIGTERM',
    Labels: {
      'org.opencontainers.image.title': 'Quarry',
      'org.opencontainers.image.version': of.version,
      ...(of.commit !== undefined && { 'org.opencontainers.image.revision': of.commit }),
      ...(of.source !== undefined && { 'org.opencontainers.image.source': of.source }),
      'org.opencontainers.image.licenses': of.license,
    },
  }
}

function readText(root: string, file: string): string {
  return readFileSync(path.join(root, file), 'utf8')
}
