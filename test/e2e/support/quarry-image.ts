// The image of this checkout on all nodes of tier node, as a registry would give it.

import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { ROOT } from './helm.ts'
import { outputOf } from './program.ts'
import { KUBE, type Tier } from './tier.ts'

const ANNOTATION = 'io.containerd.image.name'
const BUILD_LIMIT_MS = 10 * 60_000

interface ImageIndex {
  readonly manifests: readonly {
    readonly annotations: Readonly<Record<string, string>>
  }[]
}

/** Images whose names differ, so that a rollout can go from one to another. */
type ImageName = 'quarry' | 'quarry-inference' | 'quarry-next'

interface Made {
  readonly args: readonly string[]
  /** Names one that the nodes of a cluster have which test/e2e/kube did not make. */
  readonly variable: string
  readonly usual: string
}

const MADE: Readonly<Record<ImageName, Made>> = {
  quarry: { args: [], variable: 'QUARRY_E2E_IMAGE', usual: 'quarry:0.1.0' },
  'quarry-inference': {
    args: ['--target=inference'],
    variable: 'QUARRY_E2E_INFERENCE_IMAGE',
    usual: 'quarry-inference:0.1.0',
  },
  'quarry-next': {
    args: ['--name=quarry:next'],
    variable: 'QUARRY_E2E_NEXT_IMAGE',
    usual: 'quarry:next',
  },
}

/** Its name, when all nodes have it. */
export async function quarryImage(tier: Tier, image: ImageName = 'quarry'): Promise<string> {
  const { args, variable, usual } = MADE[image]
  if (!tier.isOwn) return process.env[variable] ?? usual
  const directory = await mkdtemp(path.join(tmpdir(), 'quarry-image-'))
  try {
    const layout = path.join(directory, 'layout')
    const build = path.join(ROOT, 'images/main.ts')
    const command = [process.execPath, build, '--out', layout, ...args] as const
    await outputOf(command, { limitMs: BUILD_LIMIT_MS })
    const name = await nameInLayout(layout)
    const file = path.join(directory, 'quarry.tar')
    await outputOf(['tar', '-C', layout, '-cf', file, '.'])
    await outputOf([path.join(KUBE, 'load-image'), file])
    return name
  } finally {
    await rm(directory, { recursive: true })
  }
}

/** The short one, by which the kubelet has to find the image. */
async function nameInLayout(layout: string): Promise<string> {
  const index: ImageIndex = JSON.parse(await readFile(path.join(layout, 'index.json'), 'utf8'))
  const [name = ''] = index.manifests.map(({ annotations }) => annotations[ANNOTATION])
  return name.slice(name.lastIndexOf('/') + 1)
}
