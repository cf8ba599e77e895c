import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { promisify } from 'node:util'
import { gunzipSync } from 'node:zlib'
import { expect } from 'chai'
import {
  completeEntries,
  directoryEntry,
  entryOf,
  filesBelow,
  textEntry,
} from '../../../../images/files/entries.ts'
import { writeLayout, type Image } from '../../../../images/oci/layout.ts'

const run = promisify(execFile)
const LONG_NAME = `${'deep/'.repeat(30)}${'n'.repeat(120)}`

/** A tree with all that an image has: a program, a link, a path that is too long for a plain header. */
async function writeTree(tree: string): Promise<void> {
  await mkdir(path.join(tree, 'bin'), { recursive: true })
  await writeFile(path.join(tree, 'bin/run'), '#!/bin/sh\n', { mode: 0o755 })
  await writeFile(path.join(tree, 'words'), 'sea charts\n'.repeat(100_000), { mode: 0o600 })
  await symlink(`../${LONG_NAME}`, path.join(tree, 'bin/link'))
  await mkdir(path.join(tree, path.dirname(LONG_NAME)), { recursive: true })
  await writeFile(path.join(tree, LONG_NAME), 'deep')
}

function imageOf(tree: string, words = 'hello'): Image {
  const files = [...filesBelow(tree)].map((file) => entryOf(file, path.join(tree, file)))
  const config = {
    User: '10001:10001',
    Env: ['PATH=/bin'],
    Entrypoint: ['/bin/run'],
    WorkingDir: '/data',
    StopSignal: 'SIGTERM',
    Labels: { 'org.opencontainers.image.version': '1.2.3' },
  }
  const own = [directoryEntry('data', { mode: 0o750, owner: 10_001 }), textEntry('own', words)]
  const layers = [
    { comment: 'files', entries: completeEntries(files) },
    { comment: 'own', entries: completeEntries(own) },
  ]
  return { reference: 'tiny:1.2.3', architecture: 'amd64', config, layers }
}

describe('writeLayout', () => {
  let work: string
  let tree: string
  let out: string

  beforeEach(async () => {
    work = await mkdtemp(path.join(tmpdir(), 'quarry-layout-'))
    tree = path.join(work, 'tree')
    out = path.join(work, 'out')
    await writeTree(tree)
  })
  afterEach(() => rm(work, { recursive: true }))

  const blob = (digest: string): Promise<Buffer> =>
    readFile(path.join(out, 'blobs/sha256', digest.replace('sha256:', '')))
  const json = async (digest: string) => JSON.parse((await blob(digest)).toString())
  const index = async () => JSON.parse(await readFile(path.join(out, 'index.json'), 'utf8'))

  it('makes files that name each other by their digests and sizes', async () => {
    const digest = await writeLayout(out, imageOf(tree))

    const [named] = (await index()).manifests
    const manifest = await json(digest)
    const config = await json(manifest.config.digest)
    const blobs = await Promise.all(
      [named, manifest.config, ...manifest.layers].map((each) => blob(each.digest)),
    )
    expect(named.digest).to.equal(digest)
    expect(named.annotations['io.containerd.image.name']).to.equal('docker.io/library/tiny:1.2.3')
    expect(named.annotations['org.opencontainers.image.ref.name']).to.equal('1.2.3')
    expect(JSON.parse(await readFile(path.join(out, 'oci-layout'), 'utf8'))).to.deep.equal({
      imageLayoutVersion: '1.0.0',
    })
    expect(blobs.map((bytes) => bytes.length)).to.deep.equal(
      [named, manifest.config, ...manifest.layers].map(({ size }) => size),
    )
    expect(blobs.map(sha256)).to.deep.equal(
      [named, manifest.config, ...manifest.layers].map((each) => each.digest),
    )
    expect(config.rootfs.diff_ids).to.deep.equal(
      blobs.slice(2).map((bytes) => sha256(gunzipSync(bytes))),
    )
    expect(await readdir(path.join(out, 'blobs/sha256'))).to.have.length(blobs.length)
    expect(config.config).to.include({ User: '10001:10001', StopSignal: 'SIGTERM' })
  })

  const whole = [
    ['quarry:1', 'docker.io/library/quarry:1'],
    ['people/quarry:1', 'docker.io/people/quarry:1'],
    ['localhost/quarry:1', 'localhost/quarry:1'],
    ['registry.example:5000/people/quarry:1', 'registry.example:5000/people/quarry:1'],
  ] as const
  for (const [reference, name] of whole) {
    it(`names ${reference} as kubelets do`, async () => {
      await writeLayout(out, { ...imageOf(tree), reference })

      const [{ annotations }] = (await index()).manifests
      expect(annotations['io.containerd.image.name']).to.equal(name)
    })
  }

  it('is read by tar as the tree that it was made of (OL2: blobs are whole)', async () => {
    const manifest = await json(await writeLayout(out, imageOf(tree)))
    const unpacked = path.join(work, 'unpacked')
    await mkdir(unpacked)
    for (const { digest } of manifest.layers) {
      const layer = path.join(out, 'blobs/sha256', digest.replace('sha256:', ''))
      await run('tar', [
        '--extract',
        '--gzip',
        '--file',
        layer,
        '--no-same-owner',
        '--directory',
        unpacked,
      ])
    }

    await rm(path.join(unpacked, 'data'), { recursive: true })
    await rm(path.join(unpacked, 'own'))
    const { stdout } = await run('diff', ['--recursive', '--no-dereference', tree, unpacked])
    expect(stdout).to.equal('')
  })

  it('keeps modes and owners, and of files only whether they are programs', async () => {
    const manifest = await json(await writeLayout(out, imageOf(tree)))
    const lists = []
    for (const { digest } of manifest.layers) {
      const layer = path.join(out, 'blobs/sha256', digest.replace('sha256:', ''))
      const args = ['--list', '--verbose', '--numeric-owner', '--utc', '--gzip', '--file', layer]
      lists.push((await run('tar', args)).stdout)
    }

    const [files = '', own = ''] = lists
    expect(files).to.match(/^-rwxr-xr-x 0\/0 +10 1970-01-01 00:00 bin\/run$/m)
    expect(files).to.match(/^-rw-r--r-- 0\/0 +1100000 1970-01-01 00:00 words$/m)
    expect(own).to.match(/^drwxr-x--- 10001\/10001 +0 1970-01-01 00:00 data\/$/m)
  })

  it('has the same digest for the same content, whenever and wherever it lies (OL1)', async () => {
    const first = await writeLayout(out, imageOf(tree))
    const other = path.join(work, 'other')
    await writeTree(other)

    expect(await writeLayout(path.join(work, 'again'), imageOf(other))).to.equal(first)
    expect(await writeLayout(path.join(work, 'changed'), imageOf(other, 'hullo'))).not.to.equal(
      first,
    )
  })

  it('replaces what lay there before', async () => {
    await writeLayout(out, imageOf(tree, 'before'))
    await writeLayout(out, imageOf(tree))

    expect(await readdir(path.join(out, 'blobs/sha256'))).to.have.length(4)
  })
})

function sha256(bytes: Buffer): string {
  return `sha256:${createHash('sha256').update(bytes).digest('hex')}`
}
