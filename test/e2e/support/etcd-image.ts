// The etcd of tier node as an image: the cluster has no registry to pull the usual one from.

import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { outputOf } from './program.ts'
import { KUBE, ownBinaries, type Tier } from './tier.ts'

const IMAGE = 'quarry.local/etcd:1'

/** Its name, when all nodes have it; empty where another cluster pulls the default one. */
export async function etcdImage(tier: Tier, name = IMAGE): Promise<string> {
  if (!tier.isOwn) return process.env['QUARRY_E2E_ETCD_IMAGE'] ?? ''
  const directory = await mkdtemp(path.join(tmpdir(), 'quarry-etcd-image-'))
  try {
    const file = path.join(directory, 'etcd.tar')
    const binary = `${path.join(await ownBinaries(), 'etcd')}=/usr/local/bin/etcd`
    const content = ['--base', '--file', binary, '--user', '10001']
    await outputOf([path.join(KUBE, 'make-image'), name, file, ...content])
    await outputOf([path.join(KUBE, 'load-image'), file])
  } finally {
    await rm(directory, { recursive: true })
  }
  return name
}
