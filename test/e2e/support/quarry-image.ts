// The image of this checkout on all nodes of tier node, as a registry would give it.

import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { ROOT } from './helm.ts'
import { outputOf } from './program.ts'
import { KUBE, type Tier } from './tier.ts'

const ANNOTATION = 'io.containerd.image.name'
/** What a container runtime puts before a name without a registry, such as the chart's default `quarry`. */
const DEFAULT_REGISTRY = 'docker.io/library'
const BUILD_LIMIT_MS = 10 * 60_000

interface ImageIndex {
  readonly manifests: readonly {
    readonly annotations: Readonly<Record<string, string>>
  }[]
}

/** Its name. QUARRY_E2E_IMAGE names one that the nodes of a cluster have which test/e2e/kube did not make. */
export async function quarryImage(tier: Tier): Promise<string> {
  if (!tier.isOwn) return process.env['QUARRY_E2E_IMAGE'] ?? 'quarry:0.1.0'
  const directory = await mkdtemp(path.join(tmpdir(), 'quarry-image-'))
  try {
    const layout = path.join(directory, 'layout')
    const build = path.join(ROOT, 'images/main.ts')
    await outputOf([process.execPath, build, '--out', layout], { limitMs: BUILD_LIMIT_MS })
    const name = await nameInLayout(layout)
    const file = path.join(directory, 'quarry.tar')
    await outputOf(['tar', '-C', layout, '-cf', file, '.'])
    await outputOf([path.join(KUBE, 'load-image'), file])
    return name
  } finally {
    await rm(directory, { recursive: true })
  }
}

/** Completes the name, so that the kubelet finds the image by the short one. */
async function nameInLayout(layout: string): Promise<string> {
  const file = path.join(layout, 'index.json')
  const index: ImageIndex = JSON.parse(await readFile(file, 'utf8'))
  const names = index.manifests.map(({ annotations }) => annotations[ANNOTATION])
  const [name = ''] = names
  const manifests = index.manifests.map(({ annotations, ...manifest }) => ({
    ...manifest,
    annotations: { ...annotations, [ANNOTATION]: `${DEFAULT_REGISTRY}/${name}` },
  }))
  await writeFile(file, JSON.stringify({ ...index, manifests }))
  return name
}
