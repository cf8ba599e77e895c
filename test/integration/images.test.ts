// The images as containers run them: what is left out of them is not needed, their first process does its duty, and
// they are as large as docs/lab/images.md says. Needs root, for containers, and Debian's packages (`npm run image`).

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, mkdtemp, readFile, rm } from 'node:fs/promises'
import type { Server } from 'node:http'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { pipeline } from 'node:stream/promises'
import { text as textOf } from 'node:stream/consumers'
import { expect } from 'chai'
import { StoreClient } from '../../clients/typescript/src/store-client.ts'
import { bytesOf, IMAGE_BYTES_MAX, planImage, type PlannedImage } from '../../images/build-image.ts'
import { DEBS } from '../../images/config.ts'
import { completeEntries } from '../../images/files/entries.ts'
import { packTar } from '../../images/oci/tar.ts'
import { PLATFORMS, TARGETS, type Target } from '../../images/parts/platform.ts'
import { must } from '../../lib/assert.ts'
import { ImageContainer, processesBelow } from '../support/processes/image-container.ts'
import { close, listen, portOf } from '../support/servers/local-server.ts'
import { until } from '../support/until.ts'
import { asDataUri, imageOf } from '../support/worlds/media-files.ts'
import { pdfOf, pdfText } from '../support/worlds/pdf-documents.ts'
import { sizeTable, SIZES_DOCUMENT } from '../tidy/image-sizes.ts'

const ROOT = path.resolve(import.meta.dirname, '../..')
const LIMIT_MS = 10 * 60_000
const COMMIT = '4f2c9a1d0b7e6c5a3d8f1e2b9c0a7d6e5f4b3c2a'
const PORT_FLAGS = {
  swarm: ['--api-port', '0', '--health-port', '0'],
  other: ['--port', '0', '--health-port', '0'],
}
const SWARM = ['swarm', ...PORT_FLAGS.swarm, '--data-dir', '/var/lib/quarry', '--no-inference']
/** A change of the sources may move a size of the document by as much before somebody writes it again. */
const TOLERANCE_MB = 1

/** Loads what the product loads late or in other processes, and uses the binaries. */
const NATIVE = `
import { Index } from 'usearch'
import sharp from 'sharp'
import { createCanvas } from '@napi-rs/canvas'
import { ClassicLevel } from 'classic-level'
import { KubeConfig } from '/app/operator/runtime/client/kube-config.ts'
import '/app/operator/runtime/client/kubernetes-client.ts'
import '@aws-sdk/client-bedrock-runtime'
import 'google-auth-library'
import 'protobufjs'
import 'swagger-ui-dist/package.json' with { type: 'json' }
const index = new Index({ metric: 'l2sq', dimensions: 2 })
index.add(7n, new Float32Array([1, 2]))
const found = index.search(new Float32Array([1, 2]), 1)
const png = await sharp(createCanvas(64, 64).toBuffer('image/png')).resize(8, 8).png().toBuffer()
const level = new ClassicLevel('/var/lib/quarry/level')
await level.put('a', 'b')
await level.close()
console.log(JSON.stringify({ key: Number(found.keys[0]), png: png.length > 0, kube: new KubeConfig() !== null }))
`

describe('the images', function () {
  this.timeout(LIMIT_MS)

  let work: string
  let models: Server
  const planned = new Map<Target, PlannedImage>()

  before(async () => {
    expect(process.getuid?.(), 'containers of this test need root').to.equal(0)
    work = await mkdtemp(path.join(tmpdir(), 'quarry-images-'))
    for (const target of TARGETS) planned.set(target, await unpackImage(target, work))
    models = await listen('127.0.0.1', async (request, response) => {
      const body = await textOf(request)
      const content = body.includes('image_url') ? 'A lighthouse on a cliff' : 'nothing to see'
      response.end(JSON.stringify({ choices: [{ message: { content } }] }))
    })
  })

  after(async () => {
    if (models !== undefined) await close(models)
    await rm(work, { recursive: true, force: true })
  })

  const start = (target: Target, name: string, args: readonly string[], more = {}) =>
    ImageContainer.run({
      tree: path.join(work, target),
      dataDir: path.join(work, `data-${name}`),
      args,
      ...more,
    })

  it('are as small as they may be, and every rule of what they lack leaves something out', () => {
    for (const [target, { image, idle }] of planned) {
      expect(bytesOf(image), target).to.be.below(IMAGE_BYTES_MAX[target])
      expect(idle.map(({ files }) => files.source)).to.deep.equal([])
    }
  })

  it('have the sizes that the document tells (npm run image:sizes)', async () => {
    const document = await readFile(path.join(ROOT, SIZES_DOCUMENT), 'utf8')
    const images = TARGETS.map((target) => must(planned.get(target), target).image)

    const now = rowsOf(sizeTable(images))
    const told = new Map(rowsOf(document))
    for (const [name, sizes] of now) {
      const before = must(told.get(name), `a row of ${name}`)
      for (const [at, size] of sizes.entries()) {
        expect(before[at], name).to.be.closeTo(size, TOLERANCE_MB)
      }
    }
  })

  it('know what they were made of', async () => {
    await using container = await start('node', 'version', ['version', '--json'])

    const { exitCode, output } = await container.ended
    expect(exitCode).to.equal(0)
    expect(JSON.parse(output)).to.include({ git_commit: COMMIT })
    await using swarm = await start('node', 'commit', SWARM)
    const { api, health } = await swarm.ready()
    const version = await (await fetch(`${health}/version`)).json()
    const status = await (await fetch(`${api}/api/v1/status`)).json()
    expect(version).to.have.property('git_commit', COMMIT)
    expect(status).to.have.property('git_commit', COMMIT)
  })

  it('load every binary, and what is loaded late', async () => {
    const args = ['--input-type=module', '--eval', NATIVE]
    // Packages are looked up from the directory of the process.
    const entryPoint = ['/usr/local/bin/node', '--eval', AS_IN_APP, '--']
    await using container = await start('node', 'native', args, { entryPoint })

    const { exitCode, output, log } = await container.ended
    expect({ exitCode, log }).to.deep.equal({ exitCode: 0, log: '' })
    expect(JSON.parse(output)).to.deep.equal({ key: 7, png: true, kube: true })
  })

  it('say what is missing where models should run without their runtime', async () => {
    await using container = await start('node', 'missing', ['inference', ...PORT_FLAGS.other])

    const { exitCode, log } = await container.ended
    expect(exitCode).to.equal(78)
    expect(log).to.include('onnxruntime-node is not there').and.include('quarry-inference has it')
  })

  it('write, search texts, and read PDFs and images for models in the other image', async () => {
    await using inference = await start('inference', 'models', ['inference', ...PORT_FLAGS.other])
    const { api: url } = await inference.ready()
    const env = { QUARRY_PROVIDER_HOSTS: '127.0.0.1' }
    await using swarm = await start('node', 'store', SWARM, { env })
    const store = new StoreClient({ baseUrl: (await swarm.ready()).api })
    const embedder = { provider: 'quarry', url, model: 'quarry-static-en' } as const
    const summarizer = {
      provider: 'openai',
      model: 'seer',
      url: `http://127.0.0.1:${portOf(models)}`,
      api_key: 'none',
    } as const
    await store.createTable('papers', {
      indexes: {
        words: { type: 'full_text' },
        parts: { type: 'embeddings', template: '{{remotePDF url=paper}}', embedder },
        seen: { type: 'embeddings', template: '{{media url=photo}}', embedder, summarizer },
      },
    })

    const photo = asDataUri(await imageOf(3000, 3000, 'png'), 'image/png')
    const paper = asDataUri(pdfOf(pdfText('The tide rises twice a day.')), 'application/pdf')
    // A page without text becomes an image, which is drawn.
    const drawing = asDataUri(pdfOf('0 0 1 rg 20 20 100 100 re f'), 'application/pdf')
    await store.batchWrite('papers', {
      inserts: {
        tide: { title: 'Of tides', paper, photo },
        drawn: { title: 'A drawing', photo: drawing },
      },
      sync_level: 'full_index',
    })

    const ids = async (request: Parameters<StoreClient['queryTable']>[1]) =>
      (await store.queryTable('papers', request)).hits.hits.map(({ _id: id }) => id)
    expect(await ids({ full_text_search: { query: 'title:tides' } })).to.deep.equal(['tide'])
    expect(await ids({ semantic_search: 'high water', indexes: ['parts'] })).to.deep.equal(['tide'])
    const seen = await ids({ semantic_search: 'a lighthouse', indexes: ['seen'] })
    expect(seen).to.have.members(['tide', 'drawn'])
  })

  describe('as the first process of a container', () => {
    it('end in order at SIGTERM, with their data', async () => {
      await using container = await start('node', 'order', SWARM)
      const { api } = await container.ready()
      const store = new StoreClient({ baseUrl: api })
      await store.createTable('kept', {})
      await store.batchWrite('kept', { inserts: { a: { n: 1 } } })

      await container.signal('SIGTERM')

      const { exitCode, log } = await container.ended
      expect(exitCode).to.equal(0)
      expect(log).to.include('"msg":"server stopped"')
      await using again = await start('node', 'order', SWARM)
      const { api: sameData } = await again.ready()
      const found = await new StoreClient({ baseUrl: sameData }).queryTable('kept', {})
      expect(found.hits.hits.map(({ _id: id }) => id)).to.deep.equal(['a'])
    })

    it('end at SIGTERM before they can handle it', async () => {
      const asleep = ['--eval', 'console.log(1); setInterval(() => {}, 1000)']
      const entryPoint = ['/usr/bin/tini', '--', '/usr/local/bin/node', ...asleep]
      await using container = await start('node', 'early', [], { entryPoint })
      await until(async () =>
        (await processesBelow(await container.firstProcess())).some(({ command }) =>
          command.startsWith('/usr/local/bin/node'),
        ),
      )

      await container.signal('SIGTERM')

      expect((await container.ended).exitCode).to.equal(143)
    })

    it('end when their own process kills itself, which the first process cannot', async () => {
      const kill = ['--eval', 'process.kill(process.pid, "SIGKILL"); setTimeout(() => {}, 300)']
      const node = ['/usr/local/bin/node', ...kill]
      await using tini = await start('node', 'kill', [], {
        entryPoint: ['/usr/bin/tini', '--', ...node],
      })
      await using alone = await start('node', 'kill-alone', [], { entryPoint: node })

      expect((await tini.ended).exitCode).to.equal(137)
      expect((await alone.ended).exitCode).to.equal(0)
    })

    it('bury the workers of an inference server that was killed', async () => {
      const args = ['swarm', ...PORT_FLAGS.swarm, '--data-dir', '/var/lib/quarry']
      await using container = await start('inference', 'orphans', args)
      const { api } = await container.ready()
      const store = new StoreClient({ baseUrl: api })
      await store.createTable('notes', {
        indexes: {
          near: { type: 'embeddings', template: '{{text}}', embedder: { provider: 'quarry' } },
        },
      })
      const write = (id: string) =>
        store.batchWrite('notes', {
          inserts: { [id]: { text: 'sea charts' } },
          sync_level: 'enrichments',
        })
      await write('a')
      const first = await container.firstProcess()
      const before = await processesBelow(first)
      const server = must(
        before.find(({ command }) => / inference /.test(command)),
        'the server',
      )
      const workers = await processesBelow(server.pid)
      expect(workers.length, JSON.stringify(before)).to.be.greaterThan(0)

      process.kill(server.pid, 'SIGKILL')

      const gone = new Set([server, ...workers].map(({ pid }) => pid))
      await until(async () => (await processesBelow(first)).every(({ pid }) => !gone.has(pid)))
      await write('b')
    })
  })
})

/** `node --eval` of what follows, in the directory of the product. */
const AS_IN_APP = `
process.chdir('/app')
const { spawnSync } = require('node:child_process')
const { status } = spawnSync(process.execPath, process.argv.slice(1), { stdio: 'inherit' })
process.exitCode = status
`

async function unpackImage(target: Target, work: string): Promise<PlannedImage> {
  const platform = must(
    PLATFORMS.find(({ cpu }) => cpu === process.arch),
    process.arch,
  )
  const debs = path.join(work, `debs-${target}`)
  const base = { debs: DEBS, work: debs }
  const plan = await planImage({ root: ROOT, target, platform, commit: COMMIT, base })
  const tree = path.join(work, target)
  await mkdir(tree)
  const tar = spawn('tar', ['--extract', '--numeric-owner', '--directory', tree])
  const entries = completeEntries(plan.image.layers.flatMap((layer) => layer.entries))
  const ended = once(tar, 'close')
  await pipeline(packTar(entries), tar.stdin)
  expect((await ended)[0]).to.equal(0)
  return plan
}

/** The rows of a table of sizes, by their names. */
function rowsOf(markdown: string): (readonly [name: string, sizes: readonly number[]])[] {
  return [
    ...markdown.matchAll(/^\| (?<name>[^|]+?) +\| (?<first>[\d.]+) +\| (?<second>[\d.]+) +\|$/gm),
  ].map(({ groups }) => [
    groups?.['name'] ?? '',
    [Number(groups?.['first']), Number(groups?.['second'])],
  ])
}
