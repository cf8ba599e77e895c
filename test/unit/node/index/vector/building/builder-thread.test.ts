import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { constants, tmpdir } from 'node:os'
import path from 'node:path'
import { expect } from 'chai'
import { seededRandom } from '../../../../../../lib/random.ts'
import { runAtOnce } from '../../../../../../lib/sliced.ts'
import type { DenseIndexSettings } from '../../../../../../node/embedding/settings.ts'
import { defaultRowsIndexLimits } from '../../../../../../node/index/rows/row-segments.ts'
import { BuilderThreads } from '../../../../../../node/index/vector/building/builder-thread.ts'
import {
  buildGraph,
  type BuiltGraph,
  type GraphBuilding,
  type GraphJob,
} from '../../../../../../node/index/vector/building/graph-job.ts'
import { Quantizer } from '../../../../../../node/index/vector/graph/quantizer.ts'
import { USEARCH } from '../../../../../../node/index/vector/graph/usearch-graph.ts'
import { errorOf } from '../../../../../support/error-of.ts'
import { until } from '../../../../../support/until.ts'
import { putVectors } from '../../../../../support/worlds/vector-documents.ts'
import { VectorWorld } from '../../../../../support/worlds/vector-world.ts'

const SETTINGS: DenseIndexSettings = {
  dimension: 8,
  metric: 'l2_squared',
  engine: 'usearch',
  quantization: 'f32',
}
const ROWS = 500

describe('a thread that makes graphs', () => {
  let root = ''
  const random = seededRandom(3)
  const vectors = Array.from({ length: ROWS }, () =>
    Float32Array.from({ length: SETTINGS.dimension }, () => random() - 0.5),
  )

  beforeEach(() => {
    root = mkdtempSync(path.join(tmpdir(), 'quarry-graphs-'))
    writeFileSync(path.join(root, 'vectors'), Buffer.concat(vectors.map(bytesOf)))
  })
  afterEach(() => rmSync(root, { recursive: true, force: true }))

  function jobOf(name: string, more: Partial<GraphJob> = {}): GraphJob {
    const vectorsPath = path.join(root, 'vectors')
    const place = { vectorsPath, files: filesOf(name) }
    const base = { graph: undefined, lists: undefined }
    const job = { makesGraph: true, settings: SETTINGS, rowCount: ROWS, base }
    return { ...job, ...place, ...more }
  }

  function filesOf(name: string) {
    return { graph: path.join(root, name), lists: path.join(root, `${name}.lists`) }
  }

  /** Which rows their own vectors find. */
  function rowsFound(name: string, { codes }: BuiltGraph): readonly (number | undefined)[] {
    const shape = { dimension: 8, metric: 'l2_squared', quantization: 'f32' } as const
    const graph = USEARCH.view(shape, path.join(root, name))
    const quantizer = new Quantizer(SETTINGS, codes ?? expect.fail('there is a graph'))
    return vectors.map((vector) => graph.search(quantizer.encodeQuery(vector), 20).rows[0])
  }

  it('makes the graph that its own thread would make', async () => {
    const building = new BuilderThreads().begin(jobOf('there'), () => undefined)
    const here = runAtOnce(buildGraph(jobOf('here')))

    const built = await outcomeOf(building)

    expect(building.advance()).to.equal(false)
    expect(built.graph?.bytes).to.equal(here.graph?.bytes)
    expect(built.lists).to.deep.equal(here.lists)
    expect(rowsFound('there', built)).to.deep.equal(vectors.map((_, row) => row))
  })

  it('makes lists alone while it makes a graph', async () => {
    const builder = new BuilderThreads()
    const building = builder.begin(jobOf('graph'), () => undefined)

    const built = await outcomeOf(
      builder.begin(jobOf('listed', { makesGraph: false }), () => undefined),
    )
    await outcomeOf(building)

    expect(built.graph).to.equal(undefined)
    expect(built.lists).to.deep.equal(runAtOnce(buildGraph(jobOf('here'))).lists)
    expect(existsSync(path.join(root, 'listed'))).to.equal(false)
  })

  it('adds rows to a copy of another graph', async () => {
    const builder = new BuilderThreads()
    const half = ROWS / 2
    const halfJob = jobOf('half', { rowCount: half })
    const { graph, lists, codes } = await outcomeOf(builder.begin(halfJob, () => undefined))
    const { files } = halfJob
    if (graph === undefined || codes === undefined) expect.fail('there is a graph')
    const base = {
      graph: { path: files.graph, rowCount: half, codes, trial: graph.trial },
      lists: { path: files.lists, trial: lists.trial },
    }

    const whole = await outcomeOf(builder.begin(jobOf('whole', { base }), () => undefined))

    expect(rowsFound('whole', whole)).to.deep.equal(vectors.map((_, row) => row))
    expect(rowsFound('half', whole).filter((row) => (row ?? 0) >= half)).to.deep.equal([])
  })

  it('gives up what is cancelled, and makes the next one', async () => {
    const builder = new BuilderThreads()
    const first = builder.begin(jobOf('first'), () => expect.fail('it is done'))
    first.cancel()

    await outcomeOf(builder.begin(jobOf('second'), () => undefined))

    for (const file of Object.values(filesOf('first'))) expect(existsSync(file)).to.equal(false)
    expect(first.outcome()).to.equal(undefined)
  })

  it('says why a graph could not be made', async () => {
    const missing = jobOf('none', { vectorsPath: path.join(root, 'missing') })

    const failure = await errorOf(() => {
      return outcomeOf(new BuilderThreads().begin(missing, () => undefined))
    })

    expect(failure).to.include({ code: 'INTERNAL' })
    expect(String(failure)).to.include('ENOENT')
  })

  it('lets an index be searched and written meanwhile, which hears when it is done', async () => {
    let calls = 0
    using world = new VectorWorld({
      settings: SETTINGS,
      directory: path.join(root, 'index'),
      limits: LIMITS,
      builder: new BuilderThreads(),
      onWork: () => (calls += 1),
    })
    world.apply(...vectors.map((_, n) => documentOf(n)))
    world.settle()
    const before = world.keys(query, { limit: ROWS })
    world.apply(documentOf(ROWS))
    world.flush()
    const files = readdirSync(path.join(root, 'index'))

    await until(async () => calls > 0)
    world.settle()
    const after = world.keys(query, { limit: ROWS + 1 })

    expect(files.filter((name) => name === '2.graph')).to.deep.equal([])
    expect(before).to.have.length(ROWS)
    expect(after).to.have.members([...before, `k${ROWS}`])
    expect(readdirSync(path.join(root, 'index'))).to.include('2.graph')
  })

  if (process.platform === 'linux') {
    it('has a low priority, which is its own alone', async () => {
      const before = niceOf(String(process.pid))
      await outcomeOf(new BuilderThreads().begin(jobOf('low'), () => undefined))

      const nices = readdirSync('/proc/self/task').map(niceOf)

      expect(nices).to.include(constants.priority.PRIORITY_BELOW_NORMAL)
      expect(niceOf(String(process.pid))).to.equal(before)
    })
  }

  const query = new Float32Array(SETTINGS.dimension)
  const documentOf = (n: number) => {
    return putVectors({ key: `k${n}`, ordinal: n, rows: [{ vector: vectors[n % ROWS] ?? query }] })
  }
})

/** The 19th field of its line, counted behind the name, which may have blanks. */
function niceOf(thread: string): number {
  const line = readFileSync(`/proc/self/task/${thread}/stat`, 'utf8')
  return Number(line.slice(line.lastIndexOf(')') + 2).split(' ')[16])
}

const LIMITS = {
  ...defaultRowsIndexLimits,
  mergePolicy: {
    ...defaultRowsIndexLimits.mergePolicy,
    graphRowsMin: ROWS,
    settledGraphRowsMin: ROWS,
  },
}

async function outcomeOf(building: GraphBuilding) {
  await until(async () => building.outcome() !== undefined)
  return building.outcome() ?? expect.fail('it has an outcome')
}

function bytesOf({ buffer, byteOffset, byteLength }: Float32Array): Uint8Array {
  return new Uint8Array(buffer, byteOffset, byteLength)
}
