import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { expect } from 'chai'
import { scanModels } from '../../inference/models/model-catalog.ts'
import { filesBelow } from '../../inference/models/hub/folders.ts'
import { silentLog } from '../../lib/log.ts'
import { HubServer } from '../support/fakes/hub-server.ts'
import { writeTinyEmbedder } from '../support/inference/model-directories.ts'
import { runCommand } from './cli-session.ts'
import type { CliRun, CliSetting } from './cli-session.ts'

const BIN = path.resolve(import.meta.dirname, '../../bin/quarry')
const GRAPH = randomBytes(400_000)
const FILES = {
  'config.json': '{"architectures":["BertModel"]}',
  'tokenizer.json': '{"model":{}}',
  'onnx/model.onnx': GRAPH,
  'onnx/model_quantized.onnx': GRAPH.subarray(0, 100_000),
}

describe('quarry models', () => {
  let hub: HubServer
  let modelsDir: string

  beforeEach(async () => {
    hub = await HubServer.open()
    hub.add('acme/mini', FILES)
    modelsDir = await mkdtemp(path.join(tmpdir(), 'quarry-models-'))
  })

  afterEach(async () => {
    await hub[Symbol.asyncDispose]()
    await rm(modelsDir, { recursive: true })
  })

  function run(args: readonly string[], setting: Partial<CliSetting> = {}): Promise<CliRun> {
    const all = ['models', ...args, '--models-dir', modelsDir]
    return runCommand(all, { url: 'http://127.0.0.1:1', ...setting })
  }
  const pull = (...args: readonly string[]) =>
    run(['pull', 'acme/mini', '--endpoint', hub.endpoint, ...args])

  it('pull installs a model, and lists its files', async () => {
    const { exitCode, stdout, stderr } = await pull()

    expect(exitCode).to.equal(0)
    expect(stdout).to.equal(
      'pulled acme/mini (embedder, f32, 3 files, 400 KB) into ' +
        `${modelsDir}/embedders/acme/mini\n`,
    )
    expect(stderr).to.equal(
      [
        '3 files, 400 KB',
        'tokenizer.json, 12 B',
        'config.json, 31 B',
        'onnx/model.onnx, 400 KB',
        '',
      ].join('\n'),
    )
  })

  it('pull --json prints one value for programs', async () => {
    const { stdout } = await pull('--json', '--variant', 'i8', '--kind', 'rerankers')

    expect(JSON.parse(stdout)).to.deep.equal({
      model: 'acme/mini',
      kind: 'reranker',
      variant: 'i8',
      directory: path.join(modelsDir, 'rerankers/acme/mini'),
      files: 3,
      bytes: 100_043,
    })
  })

  it('pull --if-needed asks no hub for what is there, and one for what is not', async () => {
    await pull('--if-needed', '--variant', 'i8')
    const nowhere = ['--endpoint', 'http://127.0.0.1:1', '--if-needed']
    const again = (...more: readonly string[]) => run(['pull', 'acme/mini', ...nowhere, ...more])

    expect((await again()).stdout).to.equal('acme/mini@main is there\n')
    expect((await again('--variant', 'i8', '--kind', 'embedders')).exitCode).to.equal(0)
    expect(JSON.parse((await again('--json')).stdout)).to.deep.equal({
      model: 'acme/mini',
      kept: true,
    })
    for (const other of [
      ['--variant', 'f32'],
      ['--revision', 'v2'],
      ['--kind', 'rerankers'],
    ]) {
      expect((await again(...other)).exitCode, other.join(' ')).to.equal(3)
    }
    // A directory that was copied there says nothing of a revision.
    await rm(path.join(modelsDir, 'embedders/acme/mini/manifest.json'))
    expect((await again()).exitCode).to.equal(3)
  })

  it('list shows names, kinds, variants and bytes', async () => {
    await pull()
    await pull('--variant', 'i8')

    const { stdout } = await run(['list'])
    const [line = ''] = (await run(['list', '--json'])).stdout.split('\n')

    expect(stdout.split('\n')[0]).to.equal('MODEL      KIND      VARIANTS  ON DISK')
    expect(stdout.split('\n')[1]).to.match(/^acme\/mini {2}embedder {2}f32, i8 +501 KB$/)
    const { bytes, ...model } = JSON.parse(line)
    expect(model).to.deep.equal({ name: 'acme/mini', kind: 'embedder', variants: ['f32', 'i8'] })
    expect(bytes).to.be.within(500_043, 502_000)
  })

  it('pull makes directories that the server lists', async () => {
    const source = await writeTinyEmbedder(path.join(modelsDir, 'source'), {
      file: 'onnx/model_quantized.onnx',
    })
    const paths = await filesBelow(source)
    const contents = paths.map((file) => readFile(path.join(source, file)))
    const files = await Promise.all(contents)
    hub.add('acme/mini', Object.fromEntries(paths.map((file, at) => [file, files[at]!])))
    await rm(source, { recursive: true })
    await pull('--variant', 'quantized')

    const catalog = await scanModels(modelsDir, silentLog)

    expect(catalog.skipped).to.deep.equal([])
    expect(catalog.ofKind('embedder').map(({ name }) => name)).to.deep.equal(['acme/mini-i8'])
  })

  it('list without models says how to pull one', async () => {
    const { exitCode, stdout } = await run(['list'])

    expect(exitCode).to.equal(0)
    expect(stdout).to.include('get one with: quarry models pull OWNER/NAME')
  })

  it('rm asks for --yes, and removes with it', async () => {
    await pull()

    const unsure = await run(['rm', 'acme/mini'])
    const sure = await run(['rm', 'acme/mini', '--yes'])

    expect(unsure.exitCode).to.equal(2)
    expect(unsure.stderr).to.include('add --yes')
    expect(sure).to.deep.equal({ exitCode: 0, stdout: 'removed acme/mini\n', stderr: '' })
    expect((await run(['list'])).stdout).to.include('no models in')
  })

  it('rm asks for the kind when two models have the name', async () => {
    await pull()
    await pull('--kind', 'reranker')

    const which = await run(['rm', 'acme/mini', '--yes'])
    const that = await run(['rm', 'acme/mini', '--yes', '--kind', 'reranker'])

    expect([which.exitCode, that.exitCode]).to.deep.equal([2, 0])
    expect(which.stderr).to.include('add --kind embedder or reranker')
    expect((await run(['list', '--json'])).stdout).to.include('"kind":"embedder"')
  })

  const refusals: Readonly<Record<string, [args: readonly string[], code: number, why: RegExp]>> = {
    'a name that leads elsewhere': [['pull', '../etc'], 2, /not a model: "\.\.\/etc"/],
    'a name without owner': [['pull', 'mini'], 2, /OWNER\/NAME/],
    'an unknown kind': [['pull', 'a/b', '--kind', 'cats'], 2, /Give one of embedders, chunkers/],
    'a revision that leads elsewhere': [['pull', 'a/b', '--revision', '../x'], 2, /not a revision/],
    'an endpoint that is none': [['pull', 'a/b', '--endpoint', 'hub'], 2, /not an http\(s\) URL/],
    'a model that is not there': [['rm', 'no/such', '--yes'], 1, /no model no\/such in/],
    'a name to remove that leads elsewhere': [['rm', '../../etc', '--yes'], 1, /no model/],
  }
  for (const [what, [args, code, why]] of Object.entries(refusals)) {
    it(`refuses ${what}`, async () => {
      const { exitCode, stderr } = await run(args)

      expect(exitCode).to.equal(code)
      expect(stderr).to.match(why)
    })
  }

  it('reports a folder that it cannot write to', async () => {
    await writeFile(path.join(modelsDir, '.pulls'), 'a file')

    const { exitCode, stderr } = await pull()

    expect(exitCode).to.equal(1)
    expect(stderr).to.match(/^error: the models directory cannot be used: E\w+: /)
  })

  it('pull continues after it was killed', async () => {
    hub.fail('onnx/model.onnx', { kind: 'stall', afterBytes: 300_000 })
    const part = path.join(modelsDir, '.pulls/acme/mini/files/onnx/model.onnx.part')
    const killed = startPull()
    while ((await bytesOf(part)) < 300_000) await setTimeout(5)
    killed.kill('SIGKILL')
    await once(killed, 'exit')
    expect((await run(['list'])).stdout).to.include('no models in')

    hub.requests.length = 0
    const again = startPull()
    await once(again, 'exit')

    expect(again.exitCode).to.equal(0)
    expect(hub.fetched).to.deep.equal(['onnx/model.onnx'])
    expect(hub.requests.at(-1)?.range).to.equal('bytes=300000-')
    const placed = await readFile(path.join(modelsDir, 'embedders/acme/mini/onnx/model.onnx'))
    expect(placed.equals(GRAPH)).to.equal(true)
  })

  it('pull stops at Ctrl-C, and says how to continue', async () => {
    hub.fail('onnx/model.onnx', { kind: 'stall', afterBytes: 100 })
    const child = startPull()
    let stderr = ''
    child.stderr?.on('data', (text) => (stderr += String(text)))
    hub.onPartSent = async () => void child.kill('SIGINT')
    await once(child, 'close')

    expect(child.exitCode).to.equal(1)
    expect(stderr).to.include(
      `models pull acme/mini --endpoint ${hub.endpoint} --models-dir ${modelsDir}`,
    )
  })

  it('pull takes hub, token and folder from the environment', async () => {
    hub.token = 'secret'
    const environment = { HF_TOKEN: 'secret', HF_ENDPOINT: hub.endpoint }
    const child = spawn(process.execPath, [BIN, 'models', 'pull', 'acme/mini'], {
      env: { ...process.env, ...environment, QUARRY_MODELS_DIR: modelsDir },
      stdio: 'ignore',
    })
    await once(child, 'exit')

    expect(child.exitCode).to.equal(0)
    expect((await run(['list', '--json'])).stdout).to.include('"name":"acme/mini"')
  })

  function startPull(): ChildProcess {
    const options = ['--endpoint', hub.endpoint, '--models-dir', modelsDir]
    return spawn(process.execPath, [BIN, 'models', 'pull', 'acme/mini', ...options], {
      stdio: ['ignore', 'ignore', 'pipe'],
    })
  }
})

async function bytesOf(file: string): Promise<number> {
  try {
    return (await stat(file)).size
  } catch {
    return 0 // not begun yet
  }
}
